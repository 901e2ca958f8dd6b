"""A part of a content that is reasoning becomes what ``--reasoning`` says, in whatever preset and wherever it stands."""

import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.core import reasoning
from chatsquash.records import presets
from tests.checks.rows import assistant, user
from tests.conftest import cases
from tests.reading.exchanges import plain

TEXT = {"type": "text", "text": "so"}
PARTS = [
    ("a text", {"type": "reasoning", "text": "THOUGHT"}),
    ("a summary in parts", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "THOUGHT"}]}),
    ("a summary that is a text", {"type": "reasoning", "summary": "THOUGHT"}),
    ("a content in parts", {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "THOUGHT"}]}),
    ("a reasoning member", {"type": "reasoning", "reasoning": "THOUGHT"}),
    ("a thinking part", {"type": "thinking", "thinking": "THOUGHT"}),
    ("a thinking part with a text", {"type": "thinking", "text": "THOUGHT"}),
    ("a list in a thinking part", {"type": "thinking", "thinking": [{"type": "text", "text": "THOUGHT"}]}),
]
BY_PART = [pytest.param(part, id=sentence) for sentence, part in PARTS]
MEMBER, INLINE, NONE, LOGGED = "member", "inline", "none", "logged"
HELD = {
    "chat": {"keep": LOGGED, "inline": INLINE, "drop": NONE},
    "hf": {"keep": MEMBER, "inline": INLINE, "drop": NONE},
    "openai": {"keep": NONE, "inline": INLINE, "drop": NONE},
    "mistral": {"keep": NONE, "inline": INLINE, "drop": NONE},
    "sharegpt": {"keep": INLINE, "inline": INLINE, "drop": NONE},
    "text": {"keep": INLINE, "inline": INLINE, "drop": NONE},
}
ROWS = [(preset, mode, held) for preset, modes in HELD.items() for mode, held in modes.items()]


def converted(place, part, preset, mode):
    """What is said of the assistant in the record, as one text, and the codes of all findings."""
    said, other = assistant([part, TEXT]), assistant([TEXT])
    first, last = (said, other) if place == "history" else (other, said)
    line = plain({"messages": [user(), first, user("more")]}, {"choices": [{"message": last}]})
    options = Options(anonymize=False, preset=preset, reasoning=mode)
    (outcome,) = convert_session([json.dumps(line)], options)
    return outcome.record.decode(), {finding.code for finding in outcome.findings}


def how(record, part):
    if "THOUGHT" not in record:
        return NONE
    if json.dumps(part, separators=(",", ":")) in record:
        return LOGGED
    return INLINE if f"{reasoning.OPEN}\\nTHOUGHT\\n{reasoning.CLOSE}" in record else MEMBER


def test_every_preset_has_its_rows():
    assert set(HELD) == set(presets.names())


@pytest.mark.parametrize("place", ["history", "reply"])
@pytest.mark.parametrize("part", BY_PART)
@pytest.mark.parametrize(("preset", "mode", "held"), ROWS, ids=["-".join(row) for row in ROWS])
def test_it_is_held_as_the_mode_says(preset, mode, held, part, place):
    record, codes = converted(place, part, preset, mode)
    assert how(record, part) == held
    assert record.count("THOUGHT") == (held != NONE), "once"
    if held == NONE and mode == "keep":
        assert "shape-dropped" in codes, "what a preset has no place for is counted"
    if held == MEMBER:
        assert '"reasoning_content":"THOUGHT"' in record


@cases(
    "members, text",
    ("the same as a member", {"reasoning_content": "THOUGHT"}, "THOUGHT"),
    ("another than a member", {"reasoning_content": "A"}, "A\n\nTHOUGHT"),
    ("beside an empty member", {"reasoning": ""}, "THOUGHT"),
)
def test_a_part_beside_a_member_is_not_lost(members, text):
    message = assistant([PARTS[0][1], TEXT], **members)
    assert reasoning.text(message) == text


def test_parts_of_a_stream_are_one():
    pieces = [[{"type": "reasoning", "text": text}] for text in ("THO", "UGHT")]
    chunks = [{"choices": [{"index": 0, "delta": {"content": each}}]} for each in [*pieces, [TEXT]]]
    line = plain({"messages": [user()]}, [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}])
    (outcome,) = convert_session([json.dumps(line)], Options(anonymize=False, preset="hf"))
    assert json.loads(outcome.record)["messages"][-1]["reasoning_content"] == "THOUGHT"


@cases("member", *[(each, each) for each in reasoning.MEMBERS])
def test_a_string_is_the_text_of_any_member(member):
    assert reasoning.text({"role": "assistant", "content": None, member: "THOUGHT"}) == "THOUGHT"
    assert reasoning.text({"role": "assistant", "content": "so", member: ""}) == ""
