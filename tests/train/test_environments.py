"""Which torch is installed, and what of a trainer's requirements."""

import json

import pytest

from tests.conftest import cases
from tests.train import environments
from tests.train.environments import Environments, NoTorchError, builds_for_cpus, kept_requirements, wanted_torch
from tests.train.trainers import BY_NAME, TRAINERS

BOTH = "torch (2.15.0)\nAvailable versions: 2.15.0, 2.14.1, 2.13.0+cpu, 2.13.0\n  INSTALLED: 2.13.0+cpu\n"
CUDA_ONLY = "torch (2.15.0)\nAvailable versions: 2.15.0, 2.14.1\n"


@cases(
    "listing, torch, system, wanted",
    (BOTH, "", "Linux", "torch==2.13.0+cpu"),
    (BOTH, "torch==2.14.1", "Linux", "torch==2.14.1"),
    (CUDA_ONLY, "any", "Linux", "torch"),
    (CUDA_ONLY, "", "Darwin", "torch"),
)
def test_the_newest_build_for_cpus_is_taken_unless_another_is_named(listing, torch, system, wanted):
    assert wanted_torch(listing, torch, system) == wanted


@pytest.mark.parametrize("listing", [CUDA_ONLY, "", "ERROR: No matching distribution found for torch"])
def test_without_a_build_for_cpus_the_error_says_what_to_do(listing):
    assert builds_for_cpus(listing) == []
    with pytest.raises(
        NoTorchError, match=r"nothing was downloaded(?s:.*)TORCH_INDEX=URL(?s:.*)PIP_FIND_LINKS(?s:.*)TORCH=any"
    ):
        wanted_torch(listing, "", "Linux")


def test_nothing_is_made_or_downloaded_without_a_build_for_cpus(tmp_path, monkeypatch):
    monkeypatch.setattr(environments.platform, "system", lambda: "Linux")
    monkeypatch.setattr(environments, "torch_listing", lambda index="": CUDA_ONLY)
    monkeypatch.setattr(environments, "run", lambda command: pytest.fail(f"ran {command}"))
    monkeypatch.delenv("TORCH", raising=False)
    with pytest.raises(NoTorchError):
        Environments(tmp_path / "environments").make_base()
    assert list(tmp_path.iterdir()) == []


def test_the_index_is_asked_only_where_pip_knows_no_build_for_cpus(monkeypatch):
    asked = []
    monkeypatch.setattr(environments.platform, "system", lambda: "Linux")
    monkeypatch.setattr(
        environments, "torch_listing", lambda index="": asked.append(index) or (BOTH if index else CUDA_ONLY)
    )
    monkeypatch.delenv("TORCH", raising=False)
    monkeypatch.setenv("TORCH_INDEX", "https://torch.example/cpu")
    assert environments.find_torch() == ["torch==2.13.0+cpu", "--extra-index-url", "https://torch.example/cpu"]
    assert asked == ["", "https://torch.example/cpu"]


@cases(
    "torch, index, found",
    ("any", "https://torch.example/cpu", ["torch"]),
    ("torch==2.14.1", "", ["torch==2.14.1"]),
    (
        "torch==2.14.1",
        "https://torch.example/cpu",
        ["torch==2.14.1", "--extra-index-url", "https://torch.example/cpu"],
    ),
)
def test_a_torch_that_is_named_is_taken_without_a_look(torch, index, found, monkeypatch):
    monkeypatch.setattr(environments, "torch_listing", lambda index="": pytest.fail("looked"))
    monkeypatch.setenv("TORCH", torch)
    monkeypatch.setenv("TORCH_INDEX", index)
    assert environments.find_torch() == found


def test_requirements_are_kept_but_for_extras_and_those_left_out():
    listed = "torch>=2\nFlash_Attn>=2; sys_platform == 'linux'\ndatasets<5\npytest; extra == 'dev'\n"
    assert kept_requirements(listed, ("flash-attn",)) == ["torch>=2", "datasets<5"]


def test_a_trainer_that_is_installed_as_the_table_has_it_is_not_installed_again(tmp_path, monkeypatch):
    made = Environments(tmp_path)
    made.constraints.write_text("torch==2.13.0+cpu\n")
    (tmp_path / "verl").mkdir()
    wanted = {"trainer": repr(BY_NAME["verl"]), "torch": "torch==2.13.0+cpu\n"}
    (tmp_path / "verl" / "installed.json").write_text(json.dumps({"wanted": wanted, "seconds": 60.0, "size": 7}))
    monkeypatch.setattr(environments, "run", lambda command: pytest.fail(f"ran {command}"))
    assert made.make(BY_NAME["verl"]) == environments.Made(60.0, 7)


def test_what_is_left_out_has_a_reason():
    assert [trainer.name for trainer in TRAINERS if bool(trainer.without) != bool(trainer.why)] == []
    assert BY_NAME["ms-swift"].distribution == "ms-swift"
