"""``check --for``: the templates of trainers that are installed beside us, which are read and never imported."""

import json
import shutil
import sys

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.records import StoredRecord
from chatsquash.templates.trainers import TRAINERS, choose_template, find_trainer, missing_template
from tests.checks.rows import assistant, call, result, tool, user

OWN = "{% for m in messages %}{{ m.content }}{% endfor %}"
TRAINING = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
FILES = {
    "trl": {"a": OWN, "a_training": TRAINING, "b": "b"},
    "axolotl": {
        "c": "c",
        "calls": "{% for c in messages[1].tool_calls %}{{ c.function.arguments | tojson }}{% endfor %}",
    },
    "oumi": {"d": "{% if true %}\n    d\n{% endif %}\n"},
}


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    """Packages that must not be imported, with templates in them."""
    site = tmp_path / "site"
    for name, files in FILES.items():
        trainer = TRAINERS[name]
        folder = site / trainer.package / trainer.folder
        folder.mkdir(parents=True)
        (site / trainer.package / "__init__.py").write_text("raise AssertionError('imported')")
        for stem, text in files.items():
            (folder / f"{stem}.jinja").write_text(text)
        about = site / f"{name}-1.2.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    yield
    assert not {trainer.package for trainer in TRAINERS.values()} & sys.modules.keys()


def model(tmp_path, text, **more):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "chat_template.jinja").write_text(text)
    (folder / "tokenizer_config.json").write_text(json.dumps(more))
    return str(folder)


NO_FORM = "for which it has no training variant: assistant_only_loss is rejected; prompt and completion work"
NAMED = [
    ("trl", "a", TRAINING, "a of TRL 1.2, using its training variant a_training.jinja"),
    ("trl", "a_training", TRAINING, "a_training of TRL 1.2"),
    ("trl", "b", "b", f"b of TRL 1.2, {NO_FORM}"),
    ("axolotl", "c", "c", "c of axolotl 1.2"),
    ("oumi", "d", "{% if true %}d{% endif %}", "d of Oumi 1.2"),
]


@pytest.mark.parametrize("trainer, name, text, told", NAMED, ids=[f"{row[0]} {row[1]}" for row in NAMED])
def test_a_template_is_taken_by_its_name(trainer, name, text, told):
    found = choose_template(trainer, name)
    assert (found.source.templates, found.description) == ({"default": text}, told)
    assert set(found.source.tokens.values()) == {""}


OF_MODELS = [
    ("trl", "one that TRL knows", OWN, TRAINING, ", using its training variant a_training.jinja"),
    ("trl", "one with marks of its own", f"own {TRAINING}", f"own {TRAINING}", ""),
    ("trl", "one that TRL does not know", "own", "own", f", {NO_FORM}"),
    ("axolotl", "any", OWN, OWN, ""),
]


@pytest.mark.parametrize("trainer, sentence, own, text, form", OF_MODELS, ids=[row[1] for row in OF_MODELS])
def test_the_template_of_a_model_is_taken_as_the_trainer_takes_it(tmp_path, trainer, sentence, own, text, form):
    path = model(tmp_path, own, bos_token="<s>")
    found = choose_template(trainer, path)
    assert found.source.templates == {"default": text}
    assert found.source.tokens["bos_token"] == "<s>"
    assert found.description == f"{path}, as {TRAINERS[trainer].title} 1.2 does{form}"


def test_axolotl_renders_arguments_as_objects_and_no_null_members():
    as_text, as_object = call(arguments='{"path": null}'), call(arguments={"path": None, "n": [1, None]})
    said = [user(), assistant(None, as_text, as_object, "x"), result(), assistant("", call(arguments="{"))]
    held = choose_template("axolotl", "c").prepare_record(StoredRecord(said, [tool(strict=None)]))
    made = [call(arguments={"path": None}), call(arguments={"n": [1, None]}), "x"]
    assert held.messages == [user(), {"role": "assistant", "tool_calls": made}, result(), said[3]]
    assert held.tools == [tool()]


def test_what_is_nested_too_deeply_is_rendered_as_it_stands():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    held = StoredRecord([assistant("", call(arguments=deep))], None)
    assert choose_template("axolotl", "c").prepare_record(held) is held


WRONG = [
    (
        lambda: find_trainer("x"),
        "--for x: unknown trainer; expected one of axolotl, llama-factory, ms-swift, oumi, trl",
    ),
    (
        lambda: find_trainer("ms-swift"),
        "--for ms-swift: ms-swift defines its templates in Python, so rendering them would require running it",
    ),
    (
        lambda: choose_template("trl", "nope"),
        "--template nope: no such file, and TRL 1.2 has no such template: a, a_training, b",
    ),
]


@pytest.mark.parametrize("work, message", WRONG, ids=[row[1] for row in WRONG])
def test_what_cannot_be_taken_is_told(work, message):
    with pytest.raises(UsageError) as caught:
        work()
    assert str(caught.value).startswith(message)


def test_a_trainer_without_a_template_names_those_that_it_has():
    told = "--for trl: add --template MODEL, or the name of a template of TRL 1.2: a, a_training, b"
    assert str(missing_template("trl")) == told


def test_a_trainer_that_is_not_installed_is_told_with_what_installs_it(tmp_path):
    shutil.rmtree(tmp_path / "site" / "trl-1.2.dist-info")
    with pytest.raises(UsageError) as caught:
        choose_template("trl", "a")
    told = "--for trl: TRL is not installed in this environment; pip install trl, or use --template MODEL without --for"
    assert str(caught.value) == told


def test_one_without_a_folder_of_templates_is_told(tmp_path):
    shutil.rmtree(tmp_path / "site" / "trl" / "chat_templates")
    with pytest.raises(UsageError, match="has no templates in trl/chat_templates"):
        choose_template("trl", "a")


def test_check_renders_as_the_trainer_does(command, tmp_path):
    said = [user(), assistant("", call(arguments='{"word": "harbour"}')), result(), assistant()]
    (tmp_path / "data.jsonl").write_text(json.dumps({"messages": said, "tools": []}))
    given = ["check", "data.jsonl", "--for", "axolotl", "--template", "calls"]
    ended = command(*given)
    assert "1 record rendered with calls of axolotl 1.2: 0 complete" in ended.err
    assert "template-arguments-twice" not in ended.out
    assert command(*given, "--show", "1").out == '{"word": "harbour"}\n'
    alone = command("check", "data.jsonl", "--for", "trl")
    assert (alone.code, alone.out) == (2, "")
    assert "add --template MODEL" in alone.err
