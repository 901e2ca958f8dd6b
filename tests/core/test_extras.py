"""The command that adds an extra: of the program that installed chatsquash, from where it was installed."""

import json
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import chatsquash
from chatsquash.cli.explain import page
from chatsquash.core import extras
from chatsquash.core.errors import UsageError
from chatsquash.core.extras import Installation, add_command, with_add_command
from tests.conftest import cases

WHEEL = "file:///tmp/chatsquash-0.1.0-py3-none-any.whl"
GIT = "git+https://example.org/chatsquash.git@0123abcd"
RECEIPT = '[tool]\nrequirements = [{ name = "chatsquash", extras = ["view"] }, { name = "rich" }]\n'
DEVELOPING = {"conformance", "dev", "docs", "release"}
running = extras.running  # before each test has another one


@cases(
    "what, files, installed, command",
    ("pip", {}, {}, "pip install 'chatsquash[near]'"),
    (
        "pip of another folder",
        {},
        {"pip": "/opt/bin/python -m pip"},
        "/opt/bin/python -m pip install 'chatsquash[near]'",
    ),
    ("a wheel", {}, {"url": WHEEL}, f"pip install 'chatsquash[near] @ {WHEEL}'"),
    ("a commit", {}, {"url": GIT}, f"pip install 'chatsquash[near] @ {GIT}'"),
    ("a folder", {}, {"folder": "/src"}, "pip install '/src[near]'"),
    ("a checkout", {}, {"folder": "/my src", "is_editable": True}, "pip install --editable '/my src[near]'"),
    ("pipx", {"pipx_metadata.json": "{}"}, {"installer": "uv"}, "pipx inject env 'chatsquash[near]'"),
    (
        "a checkout with pipx",
        {"pipx_metadata.json": "{}"},
        {"folder": "/src", "is_editable": True},
        "pipx inject env --editable '/src[near]'",
    ),
    ("a tool of uv", {"uv-receipt.toml": RECEIPT}, {"installer": "uv"}, "uv tool install 'chatsquash[near,view]'"),
    ("a tool of uv, damaged", {"uv-receipt.toml": "["}, {"installer": "uv"}, "uv tool install 'chatsquash[near]'"),
    (
        "a project of uv",
        {"../uv.lock": ""},
        {"installer": "uv", "url": WHEEL},
        "uv add --project {root} 'chatsquash[near]'",
    ),
    (
        "its own project",
        {"../uv.lock": ""},
        {"installer": "uv", "folder": "{root}", "is_editable": True},
        "uv sync --inexact --extra near --project {root}",
    ),
    ("an environment of uv", {}, {"installer": "uv"}, "uv pip install --python {root}/env 'chatsquash[near]'"),
    ("poetry", {}, {"installer": "poetry"}, "poetry add 'chatsquash[near]'"),
    ("pdm", {}, {"installer": "pdm"}, "pdm add 'chatsquash[near]'"),
    ("conda", {}, {"installer": "conda"}, "pip install 'rensa<0.6,>=0.5'"),
    ("conda, of the extra all", {}, {"installer": "conda", "extra": "all"}, "pip install 'rensa<0.6,>=0.5' zstandard"),
    ("pip in conda", {"conda-meta/history": ""}, {}, "pip install 'chatsquash[near]'"),
)
def test_the_command_is_that_of_the_installer(tmp_path, monkeypatch, what, files, installed, command):
    listed = [
        "click>=8",
        "rensa<0.6,>=0.5; extra == 'near'",
        "zstandard; python_version < '3.14' and extra == 'zstd'",
        "chatsquash[near,zstd]; extra == 'all'",
    ]
    monkeypatch.setattr(extras, "requires", lambda _: listed)
    for name, text in files.items():
        path = tmp_path / "env" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    members = {name: value.format(root=tmp_path) if name == "folder" else value for name, value in installed.items()}
    extra = members.pop("extra", "near")
    assert add_command(Installation(tmp_path / "env", **members), extra) == command.format(root=tmp_path)


class Installed:
    def __init__(self, installer, origin):
        self.files = {"INSTALLER": installer, "direct_url.json": json.dumps(origin) if origin else None}

    def read_text(self, name):
        return self.files[name]


@cases(
    "installer, origin, expected",
    ("pip\n", None, {}),
    (None, None, {}),
    ("Poetry 2.1.1", None, {"installer": "poetry"}),
    ("uv", {"url": WHEEL, "archive_info": {}}, {"installer": "uv", "url": WHEEL}),
    (
        "pip",
        {"url": "https://example.org/chatsquash.git", "vcs_info": {"vcs": "git", "commit_id": "0123abcd"}},
        {"url": GIT},
    ),
    (
        "pip",
        {"url": "file:///my%20src", "dir_info": {"editable": True}},
        {"url": "file:///my%20src", "folder": "/my src", "is_editable": True},
    ),
    ("pip", {"url": "file:///src", "dir_info": {}}, {"url": "file:///src", "folder": "/src"}),
)
def test_an_installation_is_read_from_its_metadata(monkeypatch, installer, origin, expected):
    monkeypatch.setattr(extras, "distribution", lambda _: Installed(installer, origin))
    found = running()
    assert found._replace(prefix=Path(), pip="pip") == Installation(Path(), **expected)


def test_a_package_without_metadata_counts_as_one_of_pip(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    assert running()[1:5] == ("pip", "", "", False)


def test_pip_is_called_by_its_name_only_if_the_shell_takes_that_of_the_environment(tmp_path, monkeypatch):
    for folder in ("own", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pip").touch(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "own/python"))
    monkeypatch.setenv("PATH", str(tmp_path / "own"))
    assert running().pip == "pip"
    monkeypatch.setenv("PATH", f"{tmp_path / 'other'}:{tmp_path / 'own'}")
    assert running().pip == f"{tmp_path / 'own/python'} -m pip"


def test_errors_and_pages_name_the_command_of_the_installation(here, command, monkeypatch):
    of_uv = Installation(Path("/env"), "uv")
    monkeypatch.setattr(extras, "running", lambda: of_uv)
    monkeypatch.setitem(__import__("sys").modules, "rensa", None)
    needed = "uv pip install --python /env 'chatsquash[near]'"
    assert with_add_command("needs x: pip install 'chatsquash[near]', or y") == f"needs x: {needed}, or y"
    assert command("convert", "logs", "--duplicates", "near").err.endswith(f"requires the rensa package: {needed}\n")
    with pytest.raises(UsageError, match="requires the rensa package: uv pip install"):
        chatsquash.convert("logs", "out", chatsquash.Options(duplicates="near"))
    assert "`uv pip install --python /env 'chatsquash[zstd]'`" in page("unreadable-log")


def test_the_extra_all_has_every_extra_but_those_for_developing():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["optional-dependencies"]
    assert declared["all"] == [f"chatsquash[{','.join(sorted(declared.keys() - DEVELOPING - {'all'}))}]"]


def test_every_extra_that_an_error_names_is_declared():
    root = Path(__file__).parents[2]
    declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    sources = [path.read_text(encoding="utf-8") for path in (root / "pipeline/chatsquash").glob("**/*.py")]
    named = {extra for text in sources for extra in extras._AS_PIP.findall(text)}
    assert named <= declared.keys()
    assert len(named) >= 9
