"""Turns in a row that only a preset's shape brings together, and what modifiers make of them there."""

import json
from typing import Any, NamedTuple

import pytest

from chatsquash import Options
from chatsquash.core.model import Conversation
from chatsquash.records import presets
from chatsquash.records.reading import native, record
from chatsquash.records.shaping import line
from chatsquash.session.plan import plan, run_stages
from tests.checks.rows import assistant, call, result, talk, user

A, B = user("a"), assistant("b")
CALLED = (A, assistant("t", call()), result())
SYSTEM = {"role": "system", "content": "s"}
JOIN, MERGE, ALONE = {"bridge_results": "join"}, {"merge_consecutive": True}, {"drop_text_beside_calls": True}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
TEXT_CALL = 't\n<tool_call>\n{"name": "grep", "arguments": {}}\n</tool_call>'
RESPONSE = "<tool_response>\ndone\n</tool_response>"


class Row(NamedTuple):
    sentence: str
    options: dict[str, Any]
    conversation: Conversation
    expected: list[str]
    """Of each message of the record its role, by the first letter, and its text."""
    noted: str = ""
    """The last finding."""


BRIDGED = "changed to fit: user messages joined to the preceding result 1"
ROWS = [
    Row("behind a result", {"preset": "hf", **JOIN}, talk(*CALLED, A, B), ["u a", "a t", "t done\n\na", "a b"], BRIDGED),
    Row("once the result has its place", {"preset": "hf", **JOIN}, talk(*CALLED[:2], user("wait"), CALLED[2], B), ["u a", "a t", "t done\n\nwait", "a b"], f"changed to fit: results moved up to their calls 1, {BRIDGED[16:]}"),
    Row("once a system message is the user's", {"preset": "hf", **JOIN}, talk(*CALLED, SYSTEM, B), ["u a", "a t", "t done\n\ns", "a b"], f"changed to fit: later system messages become user messages 1, {BRIDGED[16:]}"),
    Row("behind a call that is closed", {"preset": "hf", "unpaired": "close", **JOIN}, talk(*CALLED[:2], A, B), ["u a", "a t", "t [no result]\n\na", "a b"], f"changed to fit: calls without a result closed 1, {BRIDGED[16:]}"),
    Row("where all is text", {"preset": "text", **JOIN}, talk(*CALLED, A, B, tools=[]), ["u a", f"a {TEXT_CALL}", "u <tool_response>\ndone\n\na\n</tool_response>", "a b"], BRIDGED),
    Row("where both sides alternate", {"preset": "sharegpt", **JOIN}, talk(*CALLED, A, B), ["h a", 'f t\n<tool_call>[{"name": "grep", "arguments": {}}]</tool_call>', "o done\n\na", "g b"], BRIDGED),
    Row("with images it stays behind", {"preset": "hf", "media": "keep", **JOIN}, talk(*CALLED, user([IMAGE]), B), ["u text", "a t", "t done", "u image", "a b"], "1 user message right after a result"),
    Row("texts of the user and results are one in text", {"preset": "text", **MERGE}, talk(*CALLED, A, B, tools=[]), ["u a", f"a {TEXT_CALL}", f"u {RESPONSE}\n\na", "a b"], "changed to fit: messages joined to the preceding one 1"),
    Row("the user's that only results kept apart", {"preset": "hf", **MERGE}, talk(*CALLED[:2], A, CALLED[2], user("c"), B), ["u a", "a t", "t done", "u a\n\nc", "a b"], "changed to fit: results moved up to their calls 1, messages joined to the preceding one 1; 1 user message"),
    Row("text of the message before calls goes, too", {"preset": "sharegpt", **ALONE}, talk(A, B, *CALLED[1:], B), ["h a", 'f {"name": "grep", "arguments": {}}', "o done", "g b"], "changed to fit: text next to calls dropped 1; changed to fit: consecutive assistant messages merged 1, text next to calls dropped 1"),
    Row("reasoning stays beside calls", {"preset": "sharegpt", **ALONE}, talk(A, assistant("t", call(), reasoning="hm")), ["h a", 'f <think>\nhm\n</think>\n\n<tool_call>[{"name": "grep", "arguments": {}}]</tool_call>'], "changed to fit: text next to calls dropped 1"),
]  # fmt: skip


def shaped(options: dict[str, Any], conversation: Conversation) -> tuple[dict[str, Any] | None, list[Any]]:
    asked = Options(anonymize=False, **options)
    conversation, found = run_stages(plan(asked, None).record_stages, conversation)
    made = line(presets.get_preset(asked.preset), conversation, presets.choices(asked))
    return (json.loads(made.data) if made.data else None), [*found, *made.findings]


def told(record: dict[str, Any]) -> list[str]:
    """What the messages of a record say."""
    return [f"{role(message)[0]} {said(message)}" for message in next(iter(record.values()))]


def role(message: dict[str, Any]) -> str:
    return message.get("role") or message["from"]


def said(message: dict[str, Any]) -> str:
    content = message.get("content", message.get("value"))
    return content if isinstance(content, str) else content[0]["type"]


IDS = [f"{' '.join(map(str, row.options.values()))}: {row.sentence}" for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_what_stands_in_a_row_in_the_shape_is_joined_where_that_is_wanted(row):
    made, findings = shaped(row.options, row.conversation)
    assert told(made) == row.expected
    texts = "; ".join(found.text for found in findings)
    assert texts.startswith(row.noted)


def test_results_and_what_the_user_says_behind_them_are_told_apart_again_in_one_message():
    made, _ = shaped({"preset": "text", **MERGE}, talk(*CALLED, A, B))
    held = native(record(made))
    roles = [message["role"] for message in held.messages]
    assert roles == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert [message["content"] for message in held.messages[3:5]] == ["done", "a"]
    assert [held.place(at) for at in range(6)] == [0, 1, 2, 3, 3, 4]


def test_no_text_follows_one_of_its_role_where_merging_is_asked_for():
    spoken = [
        A,
        A,
        SYSTEM,
        B,
        B,
        *CALLED[1:],
        SYSTEM,
        A,
        assistant("", call()),
        user("x"),
        result(),
        user("y"),
        B,
        A,
        B,
    ]
    made, _ = shaped({"preset": "text", **MERGE}, talk(SYSTEM, *spoken))
    roles = [message["role"] for message in made["messages"]]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2)]
