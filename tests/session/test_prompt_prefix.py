"""Sessions whose records begin alike are in one split, whatever was logged otherwise."""

from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.session.record_maker import prefix_of_messages
from tests.conftest import cases, write_log

PRESETS = ("chat", "hf", "openai", "mistral", "sharegpt", "text")
KEY = b"a key for tests of beginnings"


def pictured(picture: str, text: str = "What is it?") -> list[dict]:
    """What a user says about an image."""
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    return [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": text}, image]}]


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
def test_what_differs_only_in_images_that_are_not_written_is_in_one_split(tmp_path, monkeypatch, conversations):
    monkeypatch.chdir(tmp_path)
    for number, picture in enumerate(("iVBORw0KGgo=", "iVBORw0KGga=", "R0lGODlh")):
        reply = {"choices": [{"message": {"role": "assistant", "content": f"A dog{number}."}, "finish_reason": "stop"}]}
        line = {"timestamp": 1768298400, "session_id": f"s{number}"}
        write_log(
            tmp_path / f"logs/{number}.jsonl", {**line, "request": {"messages": pictured(picture)}, "response": reply}
        )
    shown = {"preset": "hf", "media": "drop", "split": "train=0.5,test=0.5", "conversations": conversations}
    for seed in range(8):
        summary = convert("logs", "out", Options(anonymize=False, seed=seed, **shown))
        assert summary.written == 3
        assert len(list(Path("out/data").iterdir())) == 1


@pytest.mark.parametrize("preset", PRESETS[1:])
@cases("text, other, is_same",
    ("Hello.", "Hello.", True),
    ("Hello.", "Hallo.", False),
    ("Ask a@example.com.", "Ask b@example.com.", False),
)  # fmt: skip
def test_a_beginning_that_no_record_has_is_told_as_one_would_have_it(preset, text, other, is_same):
    options = Options(preset=preset, split="a=0.5,b=0.5", media="drop", anonymize_key=KEY)
    found = [
        prefix_of_messages(pictured(*each), options, has_private=False)
        for each in (("iVBORw0KGgo=", text), ("R0lGODlh", other))
    ]
    assert (found[0] == found[1]) is is_same


def test_a_beginning_that_a_preset_cannot_hold_is_told_by_what_was_logged():
    options = Options(preset="openai", split="a=0.5,b=0.5", anonymize=False)
    first, second = (
        prefix_of_messages([{"role": "user", "content": f"{each} \ud800"}], options, has_private=False) for each in "ab"
    )
    assert first != second
