"""What loggers cut is an error that says where; presets leave such sessions out, unless they are to be kept."""

import json
from pathlib import Path

import pytest

from chatsquash import Options, convert, convert_session
from tests.conftest import log_line
from tests.outputs import findings

LITELLM = {
    "call_type": "acompletion",
    "messages": [{"role": "user", "content": "Start ... (litellm_truncated skipped 900 chars) ... end"}],
    "response": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}}]},
    "startTime": "2026-01-13T10:00:00Z",
}
PLAIN = log_line("Read this: ... [truncated]")
RESULT = log_line(
    "Read it.",
    messages=[
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "much [truncated]"},
    ],
)  # fmt: skip


def lines(*values):
    return [json.dumps(value).encode() for value in values]


@pytest.mark.parametrize("line, what", [(LITELLM, "a text in messages"), (PLAIN, "the user message")])
def test_what_was_cut_is_an_error_that_says_where(line, what):
    (outcome,) = convert_session(lines(line), Options(anonymize=False))
    (found,) = [each for each in outcome.findings if each.code == "truncated-by-logger"]
    assert found.severity == "error"
    assert f"the logger truncated {what}" in found.text
    assert outcome.records, "the specified record stays"


@pytest.mark.parametrize("preset", ["hf", "openai", "mistral", "sharegpt", "text"])
@pytest.mark.parametrize("line", [LITELLM, PLAIN], ids=["LiteLLM", "a mark"])
def test_presets_leave_it_out_unless_it_is_to_be_kept(preset, line):
    (outcome,) = convert_session(lines(line), Options(anonymize=False, preset=preset))
    assert (outcome.records, outcome.left_out) == ([], "truncated-by-logger")
    (kept,) = convert_session(lines(line), Options(anonymize=False, preset=preset, keep_cut=True))
    assert kept.left_out != "truncated-by-logger"


def test_what_a_tool_cut_for_the_model_is_no_cut_of_the_logger():
    (outcome,) = convert_session(lines(RESULT), Options(anonymize=False, preset="hf"))
    assert "truncated-by-logger" not in {each.code for each in outcome.findings}


def test_a_body_that_lies_elsewhere_is_cut(here):
    case = Path(__file__).parents[1] / "golden/bedrock/a_body_in_another_object/logs"
    convert(str(case), "out", Options(anonymize=False))
    assert "its body is in another object" in findings("truncated-by-logger")[0]["text"]


def test_rows_around_exchanges_are_no_exchanges(here):
    case = Path(__file__).parents[1] / "golden/envelopes/langfuse_blob_export/logs"
    summary = convert(str(case), "out", Options(anonymize=False))
    assert "observation of type SPAN): 1" in findings("no-exchange")[0]["text"]
    assert (summary.lines, summary.account.blank) == (3, 1)
