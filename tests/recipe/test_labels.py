"""Labels that are the replies are certified; any other setting of a trainer is refused."""

import random
from contextlib import closing

import pytest

from chatsquash import Options
from chatsquash.recipe.labels import LabelError, LabelledRow, compare
from chatsquash.recipe.replies import replies_of
from chatsquash.storage.folder import Folder
from chatsquash.templates.confined import Template
from chatsquash.templates.counting import Tokenizer
from tests.conftest import cases
from tests.recipe.conftest import FILE
from tests.recipe.trainer import CHATML, KEEPING, OTHERS, Settings, Trainer


@pytest.fixture(scope="module")
def expected(place):
    with closing(Template(str(place / "model"))) as template, closing(Folder(place / "out")) as folder:
        yield replies_of(folder, [FILE], Options(preset="hf"), template, None)


@pytest.fixture(scope="module")
def tokenizer(place):
    return Tokenizer((place / "model/tokenizer.json").read_bytes())


@pytest.fixture(scope="module")
def trainer(place, tokenizer):
    with closing(Trainer((place / "out" / FILE).read_bytes().splitlines(), tokenizer)) as made:
        yield made


GOOD = {
    "as it is": {},
    "another order": {"shuffle": 3},
    "with a token at the end of rows": {"pad": True},
    "with the headers of turns": {"mask": "headers"},
    "with a limit above all rows": {"max_length": 5000},
}
BAD = {
    "no mask": {"mask": "none"},
    "mask of the user": {"mask": "users"},
    "only the last reply": {"mask": "last"},
    "ends of turns without loss": {"mask": "no end"},
    "history removed": {"strip": 1},
    "more history removed": {"strip": 3},
    "too short": {"max_length": 150},
    "too short at the start": {"max_length": 170, "cut": "start"},
    "rows too long left out": {"max_length": 200, "cut": "drop"},
    "two records in a row": {"pack": 2},
    "all records in a row": {"pack": 9},
    "records left out": {"skip": 2},
    "records twice": {"epochs": 2},
    **{name: {"template": text} for name, text in OTHERS.items()},
}


def labelled(trainer, settings):
    return [LabelledRow(ids, trained) for ids, trained in trainer.rows(settings)]


@cases("changes", *GOOD.items())
def test_what_trains_on_the_replies_is_certified(changes, trainer, expected, tokenizer):
    totals = compare(expected, labelled(trainer, Settings(**changes)), tokenizer)
    assert (totals.rows, totals.replies, totals.exact) == (6, 18, 6)
    assert totals.headers == (18 if changes.get("mask") == "headers" else 0)


@cases("changes", *BAD.items())
def test_what_trains_on_anything_else_is_refused(changes, trainer, expected, tokenizer):
    with pytest.raises(LabelError) as refusal:
        compare(expected, labelled(trainer, Settings(**changes)), tokenizer)
    assert str(refusal.value).startswith((FILE, "token")), refusal.value


def mutation(seed):
    """A setting that is wrong in one or two ways, and different in others that do not matter."""
    draw = random.Random(seed)
    harmless = {key: value for changes in draw.sample(list(GOOD.values()), 2) for key, value in changes.items()}
    wrong = draw.choice(list(BAD.values()))
    changes = {**harmless, **draw.choice(list(BAD.values())), **wrong} if draw.random() < 0.3 else {**harmless, **wrong}
    if "max_length" in wrong:
        changes["max_length"] = draw.randint(20, wrong["max_length"])
    return Settings(**changes)


def test_two_hundred_wrong_settings_are_refused(trainer, expected, tokenizer):
    certified = []
    for seed in range(200):
        settings = mutation(seed)
        try:
            compare(expected, labelled(trainer, settings), tokenizer)
        except LabelError:
            continue
        certified.append((seed, settings))
    assert certified == []


@pytest.mark.parametrize("seed", range(30))
def test_one_other_token_or_label_is_found(seed, trainer, expected, tokenizer):
    draw, rows = random.Random(seed), labelled(trainer, Settings())
    row = draw.choice(rows)
    at = draw.choice([number for number, has_loss in enumerate(row.trained) if has_loss])
    if draw.random() < 0.5:
        row.ids[at] = (row.ids[at] + 1) % 300
    else:
        row.trained[at] = False
    with pytest.raises(LabelError):
        compare(expected, rows, tokenizer)


def test_the_first_difference_is_shown(trainer, expected, tokenizer):
    messages = {}
    for name in ("no mask", "too short", "two records in a row", "records left out", "other end of turn"):
        with pytest.raises(LabelError) as refusal:
            compare(expected, labelled(trainer, Settings(**BAD[name])), tokenizer)
        messages[name] = str(refusal.value)
    assert "trained on together with the text before it" in messages["no mask"]
    assert "cut off: is the maximum length of the trainer too small?" in messages["too short"]
    assert "more is trained on after it in the same row: a reply of another record" in messages["two records in a row"]
    assert messages["records left out"].startswith(f"{FILE}:2, message 2: not trained on, like 9 replies in all")
    assert "<|endoftext|>" in messages["other end of turn"]


def test_thoughts_that_the_template_drops_later_are_part_of_the_replies(expected):
    assert [reply.text for reply in expected[0]] == [
        '<think>I look into harbour.py.</think>\n<tool_call>{"name": "grep", "arguments": {"word": "lights 0", "path": "harbour.py"}}</tool_call><|im_end|>\n',
        "<think>One match.</think>\nIn line 4 of harbour.py.<|im_end|>\n",
        "<think>Short.</think>\nThe file harbour.py tells of harbours and lights.<|im_end|>\n",
    ]  # fmt: skip
    assert "<think>" not in expected[0][2].prompt
    assert CHATML in KEEPING
