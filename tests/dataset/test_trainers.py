"""``--for``: the options that it sets, and the configurations in ``OUT/trainer``, which match the records."""

import ast
import json
import re
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.dataset.dataset import is_public
from chatsquash.dataset.trainers import TRAINERS, parse, resolve, settings
from chatsquash.results.verify import verify
from tests.conftest import cases

DATA = re.compile(r"\.\./[\w./-]+")
LOGS = Path(__file__).parents[2] / "sample_logs" / "2026-01-12"


@pytest.fixture
def written(tmp_path, monkeypatch):
    def write(trainer: str, logs: Path = LOGS, **options):
        convert(logs, tmp_path / "out", Options(trainer=trainer, anonymize=False, replace=True, **options))
        folder = tmp_path / "out" / "trainer"
        monkeypatch.chdir(folder)
        return {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())}

    return write


def columns(folder: Path) -> set[str]:
    """The columns of all records."""
    paths = [*folder.glob("data/*")]
    if paths[0].suffix == ".parquet":
        return {name for path in paths for name in pl.read_parquet_schema(path)}
    return {name for path in paths for line in path.read_text("utf-8").splitlines() for name in json.loads(line)}


@pytest.mark.parametrize("samples", ["session", "reply"])
@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_files_of_every_trainer_are_well_formed_and_name_what_is_there(written, trainer, samples):
    if samples == "reply" and not TRAINERS[trainer].sample_shape:
        pytest.skip("trains on all of the assistant's turns")
    files = written(f"{trainer}=org/model", samples=samples)
    named = {path for text in files.values() for path in DATA.findall(text)}
    assert all(Path(path).exists() for path in named)
    assert named or trainer in ("trl", "unsloth", "llama-factory")  # which name the folder only
    assert "org/model" in "".join(files.values())
    assert not any("MODEL" in text for text in files.values())
    for name, text in files.items():
        if name.endswith(".yaml"):
            assert yaml.safe_load(text)
        elif name.endswith(".py"):
            ast.parse(text)
        else:
            assert shlex.split(text, comments=True)
    run = json.loads(Path("../run.json").read_text("utf-8"))
    assert {f"trainer/{name}" for name in files} <= {each["path"] for each in run["outputs"]}
    assert not verify(Path("..").resolve()).problems


@cases(
    "trainer, options, file, said, columns_named",
    ("TRL: whole turns", "trl", {}, "train.sh", "--assistant_only_loss true", {"messages", "tools"}),
    ("axolotl: whole turns", "axolotl", {}, "axolotl.yaml", "roles_to_train: [assistant]", {"messages", "tools"}),
    ("axolotl: flags", "axolotl", {"samples": "reply"}, "axolotl.yaml", "message_field_training: training\n    roles_to_train: []", {"messages", "tools"}),
    ("axolotl: flags of all conversations", "axolotl", {"conversations": "all"}, "axolotl.yaml", "message_field_training: training", {"messages"}),
    ("Oumi: the last reply", "oumi", {"samples": "reply"}, "oumi.yaml", "FINAL_ASSISTANT_TURN", {"messages"}),
    ("Oumi: samples where replies repeat", "oumi", {"conversations": "all"}, "oumi.yaml", "FINAL_ASSISTANT_TURN", {"messages"}),
    ("LLaMA-Factory: the last reply", "llama-factory", {"samples": "reply"}, "llamafactory.yaml", "mask_history: true", {"conversations", "system", "tools"}),
    ("Unsloth: the last reply", "unsloth", {"samples": "reply"}, "train.py", "last_response_only=True", {"messages"}),
    ("verl: the reply behind its prompt", "verl", {"samples": "reply"}, "train.sh", "data.custom_cls.path=reply_dataset.py", {"prompt", "completion"}),
)  # fmt: skip
def test_the_mask_is_that_of_the_records(written, trainer, options, file, said, columns_named):
    assert said in written(trainer, **options)[file]
    assert columns_named <= columns(Path(".."))


def test_a_completion_needs_no_mask(written):
    assert "assistant_only_loss" not in written("trl", samples="reply")["train.sh"]
    assert columns(Path("..")) == {"prompt", "completion", "tools"}


def test_preference_pairs_have_a_script_of_their_own(written):
    assert "--dataset_config pairs" in written("trl", LOGS.parent, pairs="counterfactual")["train-dpo.sh"]


def test_several_files_and_splits_are_named_as_they_are_written(written):
    options = {"shard_size": 1000, "split": "a=0.5,b=0.5", "split_by": "session"}
    text = written("llama-factory", LOGS.parent, **options)["llamafactory.yaml"]
    known = json.loads(Path("../dataset_info.json").read_text("utf-8"))
    assert set(yaml.safe_load(text)["dataset"].split(",")) <= known.keys()
    axolotl = yaml.safe_load(written("axolotl", LOGS.parent, **options)["axolotl.yaml"])["datasets"][0]
    assert axolotl["data_files"] == sorted(str(path) for path in Path("../data").glob("a-*"))
    assert written("oumi", LOGS.parent, **options)["oumi.yaml"].count("dataset_path: ../data/a-") > 1
    assert "cat ../data/a-" in written("openai", LOGS.parent, **options)["upload.sh"]


@cases(
    "model, in_yaml",
    ("a name", "org/model-1.5", "org/model-1.5"),
    ("a name that YAML takes for a number", "1e5", "1e5"),
    ("a name that YAML takes for nothing", "null", "null"),
    ("a comment", "a: b", "a: b"),
    ("signs of other languages", "modèle/ü x", "modèle/ü x"),
    ("a name with an equals sign", "a=b", "a=b"),
)
def test_a_model_is_quoted_where_it_has_to_be(written, model, in_yaml):
    assert yaml.safe_load(written(f"axolotl={model}")["axolotl.yaml"])["base_model"] == in_yaml
    words = shlex.split(written(f"trl={model}")["train.sh"].replace("\\\n", ""), comments=True)
    assert words[words.index("--model_name_or_path") + 1] == in_yaml
    assert json.loads(shlex.split(written(f"openai={model}")["train.sh"].replace("\\\n", ""), comments=True)[-1].replace("$1", ""))["model"] == in_yaml  # fmt: skip


@pytest.mark.parametrize("model", ["", " ", "-x", 'a"b', "a'b", "a\nb", "$HOME", "`id`", "a\\b", "${oc.env:X}", "a;b", "\ud800", "a" * 501, "a\u2028b"])  # fmt: skip
def test_a_model_that_a_shell_may_take_for_more_is_refused(model):
    with pytest.raises(UsageError, match="--for trl=MODEL: the model "):
        parse(f"trl={model}")


def test_a_folder_is_named_by_its_absolute_path_since_trainers_run_elsewhere(written, tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert f"base_model: {tmp_path}/model" in written("axolotl=model")["axolotl.yaml"]


@cases(
    "trainer, options, said",
    ("a preset", "axolotl", {"preset": "text"}, "trainer='axolotl': axolotl does not support preset='text'; remove it"),
    ("a format", "verl", {"format": "jsonl"}, "trainer='verl': verl does not support format='jsonl'; remove it"),
    ("samples without a mask", "nemo", {"samples": "reply"}, "trainer='nemo': NeMo Automodel trains on all assistant turns; remove"),
    ("another flag", "axolotl", {"loss": "weight"}, "trainer='axolotl': axolotl does not read loss='weight'; choose loss='training'"),
    ("another shape", "trl", {"samples": "reply", "sample_shape": "messages"}, "trainer='trl': TRL does not read sample_shape='messages'"),
    ("an exclusion without a mask", "nemo", {"loss_skip": "loop"}, "trainer='nemo': NeMo Automodel trains on all assistant turns of a record, also on"),
    ("an exclusion by flags", "trl", {"preset": "hf", "loss": "weight", "loss_model": ("m",)}, "trainer='trl': TRL trains on all assistant turns of a record, also on"),
    ("a trainer that is none", "x", {}, "trainer='x': unknown trainer; expected one of trl, axolotl"),
)  # fmt: skip
def test_what_a_trainer_cannot_read_is_refused(tmp_path, trainer, options, said):
    with pytest.raises(UsageError) as caught:
        convert(LOGS, tmp_path / "out", Options(trainer=trainer, **options))
    assert str(caught.value).startswith(said)


@cases(
    "trainer, expected",
    ("trl", {"samples": "reply", "sample_shape": "prompt-completion"}),
    ("llama-factory", {"samples": "reply", "sample_shape": "messages", "preset": "sharegpt", "bridge_results": "join"}),
    ("axolotl", {"loss": "training"}),
    ("openai", {"loss": "weight", "preset": "openai"}),
)
@cases("exclusion", {"loss_skip": "loop"}, {"loss_skip_failed": True}, {"loss_model": ("m",)}, {"loss_labels": b"x"})
def test_a_trainer_never_trains_on_excluded_replies(trainer, expected, exclusion):
    """They are marked for a trainer that reads marks; for others, each sample trains on one reply."""
    values = {name: getattr(Options(), name) for name in Options.__dataclass_fields__}
    made = settings(trainer, {**values, **exclusion}, ())
    assert made == {
        "preset": "hf",
        "format": "jsonl" if trainer in ("llama-factory", "openai") else "parquet",
        **expected,
    }


def test_names_are_known_however_they_are_spelled():
    assert [resolve(name) for name in ("TRL", "LLaMA_Factory", "llamafactory", "swift", "x")] == ["trl", "llama-factory", "llama-factory", "ms-swift", None]  # fmt: skip


def test_the_files_stay_in_a_rerun_and_go_with_the_option(written, tmp_path):
    before = written("oumi=m/x")
    assert written("oumi=m/x") == before
    convert(LOGS, tmp_path / "out", Options(preset="hf", anonymize=False, replace=True))
    assert not (tmp_path / "out" / "trainer").exists() or not [*(tmp_path / "out" / "trainer").iterdir()]


def test_the_files_are_not_for_upload(written):
    written("trl")
    assert not is_public("trainer/train.sh")
    assert "trainer/" in Path("../.gitignore").read_text("utf-8").splitlines()


def test_a_file_of_the_user_is_not_replaced(tmp_path):
    (tmp_path / "out" / "trainer").mkdir(parents=True)
    (tmp_path / "out" / "trainer" / "train.sh").write_text("mine")
    with pytest.raises(UsageError, match="not written by chatsquash"):
        convert(LOGS, tmp_path / "out", Options(trainer="trl", anonymize=False, force=True))
    shutil.rmtree(tmp_path / "out")


def test_the_command_names_what_it_sets_and_what_is_given(command, tmp_path):
    done = command("convert", str(LOGS), "-o", str(tmp_path / "out"), "--for", "ms-swift", "--reasoning", "keep")
    assert "--for ms-swift sets --preset hf --format jsonl\n  --bridge-results join; set by you: --reasoning keep" in done.err  # fmt: skip
    named = command("convert", str(LOGS), "--preset", "trl")
    assert "--preset trl: trainers are not supported here; use convert --for trl instead" in named.err


@pytest.mark.parametrize("trainer", [name for name in TRAINERS if name not in ("trl", "axolotl", "oumi")])
def test_check_finds_no_fault_with_what_is_written_for_a_trainer(command, written, trainer):
    written(trainer)
    found = command("check", "..", "--for", trainer)
    assert "unreadable-by-trainer" not in found.out + found.err
    assert f"checked for {TRAINERS[trainer].title}: " in found.err
    assert "not how it renders or masks them" in " ".join(found.err.split())


def test_check_names_the_place_that_a_trainer_does_not_read(command, tmp_path):
    rows = [
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": ["part"]}]},
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}], "extra": 1},
        {"prompt": [], "completion": 5},
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = command("check", tmp_path / "data.jsonl", "--for", "verl")
    assert "'/messages/1' violates 'oneOf'" in found.out
    assert "2 records checked for verl: 1 readable" in found.err
    assert "violates 'additionalProperties' 'extra'" in command("check", tmp_path / "data.jsonl", "--for", "openai").out
    assert command("check", tmp_path / "data.jsonl", "--for", "x").code == 2


@cases(
    "trainer, reported",
    ("one that reads flags", "axolotl", False),
    ("one that is given samples", "oumi", False),
    ("one that has neither", "torchtune", True),
)
def test_a_reply_that_a_trainer_trains_on_twice_is_reported(tmp_path, trainer, reported):
    convert(LOGS, tmp_path / "out", Options(trainer=trainer, conversations="all", anonymize=False))
    assert ("loss-not-read" in (tmp_path / "out" / "reports" / "findings.jsonl").read_text("utf-8")) == reported


def test_shards_give_the_same_files_as_one_run(command, written, tmp_path):
    one = written("oumi=org/model")
    out = str(tmp_path / "sharded")
    assert command("shards", LOGS, "--for", "oumi=org/model", "--no-anonymize", "-n", "2", "-o", out).code == 0
    assert [command("convert", "--shard", f"{at}/2", "-o", out).code for at in (1, 2)] == [0, 0]
    assert command("merge", out).code == 0
    sharded = sorted((tmp_path / "sharded" / "trainer").iterdir())
    assert {path.name: path.read_text("utf-8") for path in sharded} == one
