"""A result that a client sent twice, as Gemini CLI does after it was resumed (from recordings), is written once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash import Options, convert_session
from chatsquash.core.model import Conversation
from chatsquash.session.stages.tools import drop_repeated_results
from tests.checks.rows import assistant, call, user
from tests.trees.logs import result, results_sent_twice

A, OTHER = result("a"), result("b")
BEGIN = [user(), assistant(None, call("call_1"))]


@pytest.mark.parametrize(
    "results, left",
    [
        ([A, A], [A]),
        ([A, OTHER], [A, OTHER]),
        ([A, assistant("b"), A], [A, assistant("b"), A]),
        ([result("a", ""), result("a", "")], [result("a", ""), result("a", "")]),
        ([A, user("b"), A], [A, user("b")]),
    ],
    ids=["the same", "other content", "after another message of the assistant", "no id", "after words of the user"],
)
def test_results_with_one_id_and_one_content_are_written_once(results, left):
    made, findings = drop_repeated_results(Conversation([*BEGIN, *results], []), loaded_only=False)
    assert made.messages == [*BEGIN, *left]
    assert len([*findings]) == (len(left) < len(results))


@pytest.mark.parametrize("options, count", [({}, 2), ({"conversations": "main"}, 1), ({"preset": "hf"}, 1)])
def test_the_specified_record_has_results_as_they_were_logged(options: dict[str, Any], count: int):
    lines = [json.dumps(line) for line in results_sent_twice()]
    (outcome,) = convert_session(lines, Options(anonymize=False, **options))
    (record,) = outcome.records
    assert [message["role"] for message in json.loads(record.line)["messages"]].count("tool") == count
