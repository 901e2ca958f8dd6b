"""Values of options that cannot be meant are refused, by whatever way they come."""

import json

import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.errors import UsageError
from tests.conftest import log_line, write_log

RIGHT = [
    ("the defaults", {}),
    ("every choice of one", {"on_invalid": "keep", "group_by": "none"}),
    ("the least numbers", {"workers": 1, "limit": 1}),
    ("no limit", {"limit": None}),
    ("lists of globs", {"include": ["*"], "exclude": []}),
    ("no phrases, and blank ones", {"flag_phrase": ["", " "]}),
    ("any error", {"drop": ("errors", "short-tail")}),
    ("a preset with modifiers", {"preset": "hf", "system": "drop", "tool_ids": "short9", "split_parallel": True}),
    ("a text for calls without a result", {"preset": "hf", "unpaired": "close", "unpaired_text": "-"}),
    ("the shortest key", {"anonymize_key": b"k" * 16}),
]

WRONG = [
    ({"on_invalid": "ignore"}, "on_invalid 'ignore': not known; known are skip, keep, abort"),
    ({"group_by": None}, "group_by None: not known; known are date, scenario, none"),
    ({"preset": "trl"}, "preset 'trl': not known; known are chat, hf, mistral, openai, sharegpt, text"),
    (
        {"from_format": "chat"},
        (
            "--from 'chat': not known; known are gemini, openai_responses, anthropic, ollama, openai_chat, atif, "
            "claude_code, clippy, codex, gemini_cli, goose, openhands, otel, oumi, oumi_history, portable, pydantic_ai, "
            "vercel_ai"
        ),
    ),
    ({"system": "fold"}, "system 'fold': not known; known are keep, drop"),
    ({"tool_ids": True}, "tool_ids True: not known; known are keep, short9"),
    (
        {"preset": "hf", "json_tool_calls": True},
        "json_tool_calls=True has no effect with preset='hf': leave one of them out",
    ),
    ({"unpaired": "drop"}, "unpaired 'drop': not known; known are refuse, cut, close"),
    ({"media": "fetch"}, "media 'fetch': not known; known are refuse, drop, keep"),
    ({"media": "drop"}, "media='drop' has no effect without preset: add it, as in preset='hf'"),
    ({"preset": "openai", "media": "keep"}, "media='keep' has no effect with preset='openai': leave one of them out"),
    ({"unpaired": "close"}, "unpaired='close' has no effect without preset: add it, as in preset='hf'"),
    (
        {"preset": "hf", "unpaired": "cut", "unpaired_text": "gone"},
        "unpaired_text='gone' has no effect with unpaired='cut': change the latter, as in unpaired='close'",
    ),
    ({"preset": "hf", "unpaired": "close", "unpaired_text": 5}, "unpaired_text 5: not a text"),
    ({"preset": "hf", "unpaired": "close", "unpaired_text": "\ud800"}, "unpaired_text '\\ud800': not a text"),
    ({"workers": 0}, "workers 0: not a whole number from 1 on"),
    ({"workers": None}, "workers None: not a whole number from 1 on"),
    ({"workers": 1.5}, "workers 1.5: not a whole number from 1 on"),
    ({"limit": 0}, "limit 0: not a whole number from 1 on"),
    ({"include": "a*"}, "include 'a*': not a tuple of globs; write one as ('draft*',)"),
    ({"exclude": [1]}, "exclude [1]: not a tuple of globs; write one as ('draft*',)"),
    ({"flag_phrase": "x"}, "flag_phrase 'x': not a tuple of texts; write one as ('rate limit',)"),
    ({"flag_phrase": (5,)}, "flag_phrase (5,): not a tuple of texts; write one as ('rate limit',)"),
    ({"anonymize_key": b""}, "anonymize_key: has 0 bytes; a key has at least 16"),
    ({"anonymize_key": b"k" * 15}, "anonymize_key: has 15 bytes; a key has at least 16"),
    ({"anonymize_key": "k" * 16}, "anonymize_key: is a str; a key is bytes"),
]


@pytest.mark.parametrize("sentence, options", RIGHT, ids=[row[0] for row in RIGHT])
def test_what_can_be_meant_is_taken(sentence, options):
    assert convert_session([json.dumps(log_line("a"))], Options(**options))[0].record


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


WRONG_TOGETHER = [
    ({"format": "csv"}, "format 'csv': not known; known are jsonl, jsonl.gz, jsonl.zst, parquet"),
    ({"split_by": "line"}, "split_by 'line': not known; known are prompt, session, scenario, day"),
    ({"shard_size": 0, "format": "jsonl"}, "shard_size 0: not a whole number from 1 on"),
    ({"min_turns": -1}, "min_turns -1: not a whole number from 0 on"),
    ({"max_chars": "9"}, "max_chars '9': not a whole number from 1 on"),
    ({"min_turns": 3, "max_turns": 2}, "--min-turns 3 is more than --max-turns 2: no session has both"),
    ({"drop": "no-tools"}, "drop 'no-tools': not a tuple of globs; write one as ('draft*',)"),
    (
        {"drop": ("no-tool",)},
        "--drop no-tool: no finding has this code; docs/checks.md lists them, errors means any error",
    ),
    ({"only_model": [5]}, "only_model [5]: not a tuple of globs; write one as ('draft*',)"),
    ({"seed": "x"}, "seed 'x': not a whole number"),
    (
        {"split": "train"},
        "--split train: '' is no share between 0 and 1; write them as train=0.98,validation=0.02",
    ),
    (
        {"metadata": True, "preset": "openai"},
        "--metadata: the services of --preset openai refuse members that they do not know",
    ),
]


@pytest.mark.parametrize("options, message", WRONG_TOGETHER, ids=[row[1] for row in WRONG_TOGETHER])
def test_so_is_what_cannot_be_meant_of_a_dataset(tmp_path, options, message):
    test_what_cannot_be_meant_is_refused(tmp_path, options, message)


def test_options_of_a_dataset_are_taken_together():
    options = Options(
        format="parquet",
        split="train=1",
        split_by="day",
        seed=-3,
        metadata=True,
        shard_size=1,
        min_turns=1,
        max_turns=1,
    )
    assert convert_session([json.dumps(log_line("a"))], options)[0].record
