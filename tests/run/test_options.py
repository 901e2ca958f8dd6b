"""Values of options that cannot be meant are refused, by whatever way they come."""

import json

import pytest

from pipeline import Options, convert, convert_session
from pipeline.errors import UsageError
from tests.conftest import log_line, write_log

RIGHT = [
    ("the defaults", {}),
    ("every choice of one", {"on_invalid": "keep", "group_by": "none"}),
    ("the least numbers", {"workers": 1, "limit": 1}),
    ("no limit", {"limit": None}),
    ("lists of globs", {"include": ["*"], "exclude": []}),
    ("a preset with modifiers", {"preset": "mistral", "system": "drop", "tool_ids": "short9", "split_parallel": True}),
    ("the shortest key", {"anonymize_key": b"k" * 16}),
]

WRONG = [
    ({"on_invalid": "ignore"}, "on_invalid 'ignore': not known; known are skip, keep, abort"),
    ({"group_by": None}, "group_by None: not known; known are date, scenario, none"),
    ({"preset": "trl"}, "preset 'trl': not known; known are chat, hf, mistral, openai, sharegpt, text"),
    ({"system": "fold"}, "system 'fold': not known; known are keep, drop"),
    ({"tool_ids": True}, "tool_ids True: not known; known are keep, short9"),
    (
        {"preset": "hf", "json_tool_calls": True},
        "json_tool_calls: is for the preset chat, not for hf; the preset text writes calls as text",
    ),
    ({"workers": 0}, "workers 0: not a whole number from 1 on"),
    ({"workers": None}, "workers None: not a whole number from 1 on"),
    ({"workers": 1.5}, "workers 1.5: not a whole number from 1 on"),
    ({"limit": 0}, "limit 0: not a whole number from 1 on"),
    ({"include": "a*"}, "include 'a*': not a tuple of globs; write one as ('draft*',)"),
    ({"exclude": [1]}, "exclude [1]: not a tuple of globs; write one as ('draft*',)"),
    ({"anonymize_key": b""}, "anonymize_key: has 0 bytes; a key has at least 16"),
    ({"anonymize_key": b"k" * 15}, "anonymize_key: has 15 bytes; a key has at least 16"),
    ({"anonymize_key": "k" * 16}, "anonymize_key: is a str; a key is bytes"),
]


@pytest.mark.parametrize("sentence, options", RIGHT, ids=[row[0] for row in RIGHT])
def test_what_can_be_meant_is_taken(sentence, options):
    assert convert_session([json.dumps(log_line("a"))], Options(**options)).record


@pytest.mark.parametrize("options, message", WRONG, ids=[row[1] for row in WRONG])
def test_what_cannot_be_meant_is_refused(tmp_path, options, message):
    log = write_log(tmp_path / "a.jsonl")
    for run in (
        lambda: convert(log, tmp_path / "out", Options(**options)),
        lambda: convert_session(log, Options(**options)),
    ):
        with pytest.raises(UsageError) as caught:
            run()
        assert str(caught.value) == message
    assert not (tmp_path / "out").exists()
