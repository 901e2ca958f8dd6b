"""What a service removed from a request, or replaced with a summary, before the model saw it.

The shapes are those of types in the SDKs: ``BetaCompactionBlock``, ``BetaCompactionContentBlockDelta`` and
``BetaContextManagementResponse`` of Anthropic's, ``ResponseCompactionItem`` and ``CompactedResponse`` of OpenAI's.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash import Options, convert_session
from tests.conftest import cases

Turn = dict[str, Any]
SUMMARY = "The user builds a shed. Its floor is three by four metres, of oak, and the roof is still open."


def user(text: str) -> Turn:
    return {"role": "user", "content": text}


def said(*blocks: Any) -> Turn:
    return {"role": "assistant", "content": [block if isinstance(block, dict) else text(block) for block in blocks]}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def compaction(summary: str | None = SUMMARY, **more: Any) -> dict[str, Any]:
    return {"type": "compaction", "content": summary, **more}


class Log:
    """The lines of one session with Anthropic's service, a minute apart."""

    def __init__(self, streams: bool = False) -> None:
        self._streams = streams
        self.lines: list[dict[str, Any]] = []

    def add(self, messages: list[Turn], reply: Turn, stop: str = "end_turn", **more: Any) -> Turn:
        """A request and its reply, which is given back; ``more`` are members of the response."""
        number = len(self.lines)
        request = {"model": "claude-opus-5", "max_tokens": 900, "system": "You plan sheds.", "messages": list(messages)}
        body = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "claude-opus-5",
                "content": reply["content"], "stop_reason": stop, "usage": {"output_tokens": 3}, **more}  # fmt: skip
        response = events(body) if self._streams else body
        line = {"timestamp": f"2026-01-13T10:{number:02}:00Z", "session_id": "s1", "request": request}
        self.lines.append({**line, "response": response})
        return reply


def events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a streamed response."""
    started = {**body, "content": [], "stop_reason": None, "context_management": None}
    found: list[dict[str, Any]] = [{"type": "message_start", "message": started}]
    for at, block in enumerate(body["content"]):
        empty = {"text": ""} if block["type"] == "text" else {"content": None} if block["type"] == "compaction" else {}
        delta = {**block, "type": f"{block['type']}_delta"}
        found.append({"type": "content_block_start", "index": at, "content_block": {**block, **empty}})
        if empty:
            found.append({"type": "content_block_delta", "index": at, "delta": delta})
        found.append({"type": "content_block_stop", "index": at})
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    managed = {name: body.get(name) for name in ("context_management", "input_transformations")}
    found.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}, **managed})
    return [*found, {"type": "message_stop"}]


def records(lines: list[Any], **options: Any) -> tuple[dict[str, tuple[str, str | None, list[str]]], set[str]]:
    """Of each conversation by its last text its kind, the last text of its parent, its texts, those trained on with a
    ``+``; and the codes of what was found."""
    given = Options(**{"anonymize": False, "conversations": "all", "loss": "weight", **options})
    (outcome,) = convert_session(list(map(json.dumps, lines)), given)
    texts, ends = {}, {}
    for each in outcome.records:
        messages = json.loads(each.line)["messages"]
        texts[each.conversation] = [("+" if said.get("weight") else "") + _text(said) for said in messages[1:]]
        ends[each.conversation] = _text(messages[-1])
    found = {
        ends[each.conversation]: (each.kind, ends.get(each.parent), texts[each.conversation])
        for each in outcome.records
    }
    return found, {finding.code for finding in outcome.findings}


def _text(message: Turn) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "?") for part in content or ())


FIRST = [user("What floor fits?"), said("One of three by four metres."), user("And the wood?")]
STREAMS = pytest.mark.parametrize("streams", [False, True], ids=["at once", "streamed"])


@STREAMS
@cases("keeps", ("the client sends all again", True), ("the client drops what was replaced", False))
def test_after_a_summary_the_model_saw_only_that(streams, keeps):
    log = Log(streams)
    log.add(FIRST[:1], FIRST[1])
    reply = log.add(FIRST, said(compaction(signature="c2ln"), "Oak lasts longest."))
    later = [*(FIRST if keeps else ()), reply, user("And the roof?")]
    last = log.add(later, said("Slate is heavy."))
    log.add([*later, last, user("Then?")], said("Shingles."))
    found, codes = records(log.lines)
    assert found == {
        "One of three by four metres.": ("main", None, ["What floor fits?", "+One of three by four metres."]),
        "Shingles.": (
            "compacted", "One of three by four metres.",
            [SUMMARY, "+Oak lasts longest.", "And the roof?", "+Slate is heavy.", "Then?", "+Shingles."],
        ),
    }  # fmt: skip
    assert not codes & {"context-cleared", "vendor-extension", "unknown-format"}


def test_a_second_summary_replaces_the_first():
    log = Log()
    log.add(FIRST[:1], FIRST[1])
    one = log.add(FIRST, said(compaction(), "Oak lasts longest."))
    later = [*FIRST, one, user("And the roof?")]
    two = log.add(later, said(compaction("The shed has a floor of oak, and its roof is to be of slate."), "Slate."))
    log.add([*later, two, user("Then?")], said("Nails."))
    found, _ = records(log.lines)
    assert [(kind, parent) for kind, parent, _ in found.values()] == [
        ("main", None), ("compacted", "One of three by four metres."), ("compacted", "Oak lasts longest."),
    ]  # fmt: skip
    assert found["Nails."][2] == [
        "The shed has a floor of oak, and its roof is to be of slate.",
        "+Slate.",
        "Then?",
        "+Nails.",
    ]


@STREAMS
def test_a_response_that_only_summarises_is_a_request_of_the_side(streams):
    """As with ``pause_after_compaction``, and where ``compaction`` is set on the request."""
    log = Log(streams)
    log.add(FIRST[:1], FIRST[1])
    log.add(FIRST[:2], said(compaction()), stop="compaction")
    log.add([said(compaction()), user("And the roof?")], said("Slate is heavy."))
    found, codes = records(log.lines)
    assert found[SUMMARY][:2] == ("side", "One of three by four metres.")
    assert found[SUMMARY][2][-1] == SUMMARY, "its prompt is not known, so it is not trained on"
    assert found["Slate is heavy."] == (
        "compacted", "One of three by four metres.", [SUMMARY, "And the roof?", "+Slate is heavy."],
    )  # fmt: skip
    assert "context-cleared" in codes


def test_a_summary_that_failed_replaces_nothing():
    log = Log()
    log.add(FIRST[:1], FIRST[1])
    reply = log.add(FIRST, said(compaction(None), "Oak lasts longest."))
    log.add([*FIRST, reply, user("And the roof?")], said("Slate is heavy."))
    found, _ = records(log.lines)
    ((kind, _, texts),) = found.values()
    assert kind == "main"
    assert texts[0] == "What floor fits?"
    assert texts[-1] == "+Slate is heavy."


def managed(**counts: int) -> dict[str, Any]:
    name = "clear_thinking_20251015" if "cleared_thinking_turns" in counts else "clear_tool_uses_20250919"
    return {"context_management": {"applied_edits": [{"type": name, "cleared_input_tokens": 900, **counts}]}}


@STREAMS
@cases(
    "more, is_cleared",
    ("results", managed(cleared_tool_uses=2), True),
    ("thinking", managed(cleared_thinking_turns=1), True),
    (
        "thinking that failed a check",
        {
            "input_transformations": [
                {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch"}
            ]
        },
        True,
    ),
    (
        "thinking that was shown all the same",
        {"input_transformations": [{"type": "thinking_mismatch_allowed", "path": "messages.1.content.0"}]},
        False,
    ),
    ("nothing", managed(cleared_tool_uses=0), False),
    ("no edits", {"context_management": {"applied_edits": []}}, False),
    ("no word of it", {"context_management": None}, False),
)
@pytest.mark.parametrize("conversations", ["last", "all"])
def test_a_reply_without_what_the_service_cleared_is_not_trained_on(streams, more, is_cleared, conversations):
    log = Log(streams)
    log.add(FIRST[:1], FIRST[1])
    reply = log.add(FIRST, said("Oak lasts longest."), **more)
    log.add([*FIRST, reply, user("And the roof?")], said("Slate is heavy."))
    found, codes = records(log.lines, conversations=conversations)
    ((_, _, texts),) = found.values()
    assert ("Oak lasts longest." in texts, "+Slate is heavy." in texts) == (is_cleared, True)
    assert ("context-cleared" in codes) is is_cleared


@cases("counts, weight", ("results", {"cleared_tool_uses": 1}, 0), ("thinking", {"cleared_thinking_turns": 1}, 1))
def test_cleared_thinking_matters_only_where_the_record_has_some(counts, weight):
    log = Log()
    log.add(FIRST[:1], FIRST[1])
    log.add(FIRST, said("Oak lasts longest."), **managed(**counts))
    found, _ = records(log.lines, reasoning="drop")
    ((_, _, texts),) = found.values()
    assert texts[-1] == ("+" if weight else "") + "Oak lasts longest."


# OpenAI Responses, whose summaries are encrypted


HIDDEN = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAx"}


def item(role: str, value: str) -> dict[str, Any]:
    of = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": of, "text": value}]}


def answered(number: int, *output: dict[str, Any], of: str = "response") -> dict[str, Any]:
    return {"id": f"resp_{number}", "object": of, "status": "completed", "model": "gpt-5", "output": [*output]}


def exchange(number: int, items: list[Any], response: dict[str, Any], **request: Any) -> dict[str, Any]:
    asked = {"model": "gpt-5", "instructions": "You plan sheds.", "input": items, **request}
    return {"timestamp": f"2026-01-13T10:{number:02}:00Z", "session_id": "s1", "request": asked, "response": response}


ONE, TWO, THREE = (
    item("assistant", value) for value in ("Three by four metres.", "Oak lasts longest.", "Slate is heavy.")
)
FLOOR, WOOD, ROOF = (item("user", value) for value in ("What floor fits?", "And the wood?", "And the roof?"))


def flags(lines: list[Any]) -> dict[str, bool]:
    found, codes = records(lines)
    assert "context-cleared" in codes
    assert all("?" not in texts for _, _, texts in found.values()), "a summary is no message"
    assert all(all(texts) for _, _, texts in found.values()), "nobody says nothing"
    said = [each for _, _, texts in found.values() for each in texts]
    return {each["content"][0]["text"]: f"+{each['content'][0]['text']}" in said for each in (ONE, TWO, THREE)}


@cases("keeps", ("the client sends all again", True), ("the client drops what was replaced", False))
def test_replies_after_an_encrypted_summary_are_not_trained_on(keeps):
    begin = [FLOOR, ONE, WOOD]
    lines = [
        exchange(0, [FLOOR], answered(0, ONE)),
        exchange(
            1, begin, answered(1, HIDDEN, TWO), context_management=[{"type": "compaction", "compact_threshold": 9}]
        ),
        exchange(2, [*(begin if keeps else ()), HIDDEN, TWO, ROOF], answered(2, THREE)),
    ]
    assert flags(lines) == {"Three by four metres.": True, "Oak lasts longest.": False, "Slate is heavy.": False}


def test_replies_after_a_summary_that_is_referred_to_are_not_trained_on():
    lines = [
        exchange(0, [FLOOR], answered(0, ONE)),
        exchange(1, [WOOD], answered(1, HIDDEN, TWO), previous_response_id="resp_0"),
        exchange(2, [ROOF], answered(2, THREE), previous_response_id="resp_1"),
    ]
    assert flags(lines) == {"Three by four metres.": True, "Oak lasts longest.": False, "Slate is heavy.": False}


def test_a_compacted_response_is_no_reply():
    """``POST /responses/compact`` gives the user's messages and a summary, with which the next request begins."""
    lines = [
        exchange(0, [FLOOR], answered(0, ONE)),
        exchange(1, [FLOOR, ONE, WOOD], answered(1, TWO)),
        exchange(2, [FLOOR, ONE, WOOD, TWO], answered(2, FLOOR, WOOD, HIDDEN, of="response.compaction")),
        exchange(3, [FLOOR, WOOD, HIDDEN, ROOF], answered(3, THREE)),
    ]
    assert flags(lines) == {"Three by four metres.": True, "Oak lasts longest.": True, "Slate is heavy.": False}


def test_a_streamed_summary_is_seen():
    done = [
        {"type": "response.output_item.done", "output_index": at, "item": each} for at, each in enumerate((HIDDEN, TWO))
    ]
    compacting = {"type": "response.compaction.compacting", "item_id": "cmp_1", "output_index": 0, "sequence_number": 1}
    ended = {"type": "response.completed", "response": answered(1, HIDDEN, TWO)}
    lines = [
        exchange(0, [FLOOR], answered(0, ONE)),
        {**exchange(1, [FLOOR, ONE, WOOD], {}), "response": [compacting, *done, ended]},
        exchange(2, [FLOOR, ONE, WOOD, HIDDEN, TWO, ROOF], answered(2, THREE)),
    ]
    assert flags(lines) == {"Three by four metres.": True, "Oak lasts longest.": False, "Slate is heavy.": False}


# LiteLLM's rows, whose responses are converted to OpenAI chat


def rows(log: Log) -> list[dict[str, Any]]:
    """The log as rows of LiteLLM 1.110 (``_build_provider_specific_fields``): Anthropic's turns, responses of chat."""
    return [litellm_row(number, line["request"], line["response"]) for number, line in enumerate(log.lines)]


def litellm_row(number: int, request: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    blocks = body["content"]
    summaries = [block for block in blocks if block["type"] == "compaction"]
    fields = {"context_management": body.get("context_management"), "compaction_blocks": summaries or None}
    message = {
        "role": "assistant",
        "content": "".join(block.get("text", "") for block in blocks),
        "tool_calls": None,
        "provider_specific_fields": {name: value for name, value in fields.items() if value is not None},
    }
    return {
        "id": body["id"],
        "call_type": "anthropic_messages",
        "session_id": "s1",
        "startTime": 1768298400.0 + number,
        "messages": [{"role": "system", "content": request["system"]}, *request["messages"]],
        "model_parameters": {"max_tokens": 900, "tools": [{"name": "saw", "input_schema": {"type": "object"}}]},
        "response": {"id": body["id"], "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]},
    }


@pytest.mark.parametrize("keeps", [True, False], ids=["the client sends all again", "the client drops the rest"])
def test_summaries_in_rows_of_litellm(keeps):
    log = Log()
    log.add(FIRST[:1], FIRST[1])
    one = log.add(FIRST, said(compaction(), "Oak lasts longest."))
    later = [*(FIRST if keeps else ()), one, user("And the roof?")]
    second = "The shed has a floor of oak, and its roof is to be of slate."
    two = log.add(later, said(compaction(second), "Slate is heavy."))
    rest = [*(later if keeps else ()), two, user("Then?")]
    log.add(rest, said("Shingles."))
    found, codes = records(rows(log))
    assert {last: told for last, (_, _, told) in found.items()} == {
        "One of three by four metres.": ["What floor fits?", "+One of three by four metres."],
        "Oak lasts longest.": [SUMMARY, "+Oak lasts longest."],
        "Shingles.": [second, "+Slate is heavy.", "Then?", "+Shingles."],
    }
    assert not codes & {"context-cleared", "unknown-format"}


def test_what_was_cleared_in_rows_of_litellm():
    log = Log()
    log.add(FIRST[:1], FIRST[1])
    log.add(FIRST, said("Oak lasts longest."), **managed(cleared_tool_uses=2))
    found, codes = records(rows(log))
    assert [told for _, _, told in found.values()] == [
        ["What floor fits?", "+One of three by four metres.", "And the wood?", "Oak lasts longest."]
    ]
    assert "context-cleared" in codes
