"""``check`` on what ``convert`` wrote gives the verdicts of ``convert``, for each rule over records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.checks import rules
from chatsquash.core.errors import UsageError
from chatsquash.results.check import check
from tests.checks import test_calls, test_contents, test_definitions, test_results, test_tags
from tests.checks.rows import Row, assistant, talk
from tests.conftest import cases, log_line, write_log
from tests.outputs import findings, report

SAMPLES = Path("sample_logs").resolve()
RULES = frozenset(code for code, rule in rules().items() if rule.kind in ("record", "native", "tools"))
ROWS: list[Row] = [
    *(row for table in (test_calls, test_contents, test_definitions, test_results, test_tags) for row in table.ROWS),
    Row(
        "unknown-role", "a role that a log can have", talk({"role": "wizard", "content": "hi"}, assistant()), "error 0"
    ),
]
Verdict = tuple[str, str, str]
"""A session, a code and a severity."""


def log_of(row: Row, name: str) -> dict[str, Any]:
    """The conversation of a row as a request, with its last message as the reply if that is the assistant's."""
    messages = list(row.conversation.messages)
    is_answered = bool(messages) and isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant"
    reply = messages.pop() if is_answered else None
    return log_line(*messages, reply=reply, tools=row.conversation.tools, session_id=name)


@pytest.fixture
def logs(here) -> Path:
    """A log for each row of the tables of rules that a log can hold."""
    for number, row in enumerate(ROWS):
        try:
            write_log(here / "logs" / f"{number}.jsonl", log_of(row, str(number)))
        except TypeError:  # a conversation as only readers make it
            (here / "logs" / f"{number}.jsonl").unlink(missing_ok=True)
    return here


def verdicts(**options: Any) -> tuple[Counter[Verdict], Counter[Verdict]]:
    """What ``convert`` and then ``check`` say of the sessions that are written."""
    convert("logs", "out", Options(anonymize=False, group_by="none", duplicates="keep", **options))
    sessions = {(row["file"], row["row"]): row["session"] for row in report("sessions.jsonl") if row["file"]}
    written = set(sessions.values())
    converted = Counter(
        (each["session"], each["code"], each["severity"]) for each in findings(*RULES) if each["session"] in written
    )
    checked = Counter(
        (sessions[str(Path(each.file).relative_to("out")), each.line], each.code, each.severity)
        for each in check("out")
        if each.code in RULES
    )
    return converted, checked


@cases("options",
    ("files by day", {}),
    ("compressed lines", {"format": "jsonl.gz"}),
    ("Parquet", {"format": "parquet"}),
)  # fmt: skip
def test_records_as_logged_have_the_same_findings(logs, options):
    converted, checked = verdicts(**options)
    assert checked == converted
    assert {code for _, code, _ in converted} == {row.code for row in ROWS if row.findings} & RULES


@cases("options",
    ("calls in the text", {"json_tool_calls": True}),
    *((f"{preset} in {packing}", {"preset": preset, "format": packing})
      for preset in ("hf", "mistral", "openai", "sharegpt", "text") for packing in ("jsonl", "parquet")),
)  # fmt: skip
def test_records_of_another_shape_have_no_error_that_convert_did_not_find(logs, options):
    converted, checked = verdicts(**options)
    assert {each for each in checked if each[2] == "error"} <= set(converted)


@cases("given",
    ("an agent's sessions", "documents/claude_code-seating-csv.jsonl"),
    ("a gateway's requests", "2026-01-12"),
)  # fmt: skip
def test_logs_are_named_and_so_is_the_command(given):
    with pytest.raises(UsageError, match=r"is a log \([a-z_]+\), not a dataset; create one with: chatsquash convert "):
        list(check(str(SAMPLES / given)))
