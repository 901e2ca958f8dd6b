"""Models by their names: tokenizers and templates in the local Hugging Face cache, and what is told of others."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

import chatsquash
from chatsquash.core.errors import UsageError
from chatsquash.templates import counting
from chatsquash.templates.source import locate, read
from chatsquash.templates.trainers import split_model
from tests.conftest import cases, log_line, write_log

REVISION = "0123456789abcdef0123456789abcdef01234567"
WORDS = Tokenizer(models.WordLevel({"x": 0}, unk_token="x")).to_str()
HELP = "run `hf download org/absent --include '*.j*'` (hf is part of huggingface_hub)"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A Hugging Face cache with the models org/model and lone."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "hub"
    for model in ("models--org--model", "models--lone"):
        snapshot = folder / model / "snapshots" / REVISION
        snapshot.mkdir(parents=True)
        (snapshot / "tokenizer.json").write_text(WORDS)
        (snapshot / "chat_template.jinja").write_text("{{ messages[0].content }}")
        (folder / model / "refs").mkdir()
        (folder / model / "refs/main").write_text(REVISION)
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("model", ["org/model", "lone"])
def test_a_model_in_the_cache_is_taken_by_its_name(cache, model):
    assert counting.pack(model) == WORDS.encode()
    assert counting.of_template(model) == model
    assert read(model).templates == {"default": "{{ messages[0].content }}"}


def test_a_folder_here_is_taken_before_a_model_of_this_name(cache):
    Path("org/model").mkdir(parents=True)
    assert locate("org/model") == Path("org/model")
    with pytest.raises(UsageError, match=r"org/model: no tokenizer\.json in this folder; AutoTokenizer"):
        counting.pack("org/model")


@cases(
    "variable, below",
    ("HF_HUB_CACHE", "hub"),
    ("HUGGINGFACE_HUB_CACHE", "hub"),
    ("HF_HOME", ""),
    ("XDG_CACHE_HOME", ""),
)
def test_the_cache_is_where_huggingface_hub_has_it(cache, monkeypatch, variable, below):
    monkeypatch.delenv("HF_HUB_CACHE")
    if variable == "XDG_CACHE_HOME":
        (cache.parent / "huggingface").mkdir()
        cache = cache.rename(cache.parent / "huggingface/hub")
    monkeypatch.setenv(variable, str(cache.parent / below) if variable != "XDG_CACHE_HOME" else str(cache.parents[1]))
    assert locate("org/model").parent.parent == cache / "models--org--model"


def test_without_variables_the_cache_is_in_the_home(cache, monkeypatch):
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HOME", str(cache.parent))
    with pytest.raises(UsageError) as raised:
        locate("org/model")
    assert f"in {cache.parent}/.cache/huggingface/hub: run `hf download" in str(raised.value)


@cases(
    "model, told",
    ("org/absent", f"org/absent: no such file or folder, and no such model in {{cache}}: {HELP}"),
    (
        "absent",
        "absent: no such file or folder; pass one, or a model in the Hugging Face cache such as org/model",
    ),
    ("a/b/c", "a/b/c: no such file or folder"),
    ("../hub", "../hub: no such file or folder"),
)
def test_a_model_that_is_not_there_is_told_with_what_gets_it(cache, model, told):
    with pytest.raises(UsageError) as raised:
        counting.pack(model)
    assert str(raised.value).startswith(told.format(cache=cache))


@cases("revision", "../../../other", "main", "", "\udcff")
def test_a_cache_without_a_revision_has_no_model(cache, revision):
    (cache / "models--org--model/refs/main").write_bytes(revision.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match="no such model in"):
        locate("org/model")


def test_a_cached_model_without_a_tokenizer_is_told_with_what_gets_it(cache):
    (cache / f"models--org--model/snapshots/{REVISION}/tokenizer.json").unlink()
    with pytest.raises(UsageError, match=r"hf download org/model --include .* downloads it if the model has one"):
        counting.pack("org/model")


def test_commands_and_functions_take_models_by_their_names(cache, command):
    write_log(Path("logs/a.jsonl"), log_line("x", reply="x x"))
    assert command("convert", "logs", "--tokenizer", "org/model", "--max-tokens", "9", "--no-anonymize").code == 0
    assert command("stats", "out", "--template", "org/model").code == 0
    assert "1 record rendered with lone" in command("check", "out", "--template", "lone").err
    assert chatsquash.stats("out", tokenizer="org/model").records == 1
    ended = command("stats", "out", "--tokenizer", "org/absent")
    assert (ended.code, ended.err.endswith(f"{HELP}\n")) == (2, True)


def test_a_settings_file_names_a_file_beside_it_or_a_model(cache, command):
    write_log(Path("logs/a.jsonl"), log_line("x", reply="x x"))
    Path("chatsquash.toml").write_text('[convert]\ntokenizer = "org/model"\nmax-tokens = 9\n')
    assert command("convert", "logs", "--no-anonymize").code == 0
    Path("chatsquash.toml").write_text('[convert]\ntokenizer = "words.json"\nmax-tokens = 9\n')
    Path("words.json").write_text(WORDS)
    assert command("convert", "logs", "--no-anonymize", "--replace").code == 0


@cases(
    "trainer, template, expected",
    ("trl", None, ("trl", None)),
    ("trl", "model", ("trl", "model")),
    ("trl=org/model", None, ("trl", "org/model")),
    ("trl=", "model", ("trl", "model")),
)
def test_a_trainer_may_name_its_model(trainer, template, expected):
    assert split_model(trainer, template) == expected


def test_check_takes_the_model_of_a_trainer(cache, command):
    write_log(Path("logs/a.jsonl"), log_line("x", reply="x x"))
    command("convert", "logs", "--preset", "text", "--no-anonymize")
    ended = command("check", "out", "--for", "verl=lone")
    assert "1 record rendered with lone" in ended.err
    twice = command("check", "out", "--for", "trl=lone", "--template", "org/model")
    assert twice.err == "error: --template org/model has no effect with --for trl=lone; use only one of them\n"
    with pytest.raises(UsageError, match="use only one of them"):
        chatsquash.check("out", trainer="trl=lone", template="org/model")
