"""Canonical conversations with values that nobody expects, for writers that must hold whatever they are given."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from chatsquash.chat import PRIVATE, Private
from chatsquash.model import Conversation
from tests.formats.kinds import PDF, PNG, SIGNATURE, call, image, text

LEAVES = st.sampled_from([None, True, 0, -1, 1.5, 10**30, "", "a", "{}", "\ud800", "data:,", "https://x/y", PNG])
NAMES = st.sampled_from(
    """type text refusal image_url url input_audio data format file file_data file_id file_url filename function custom
    name arguments input id at rest source media_type content thinking signature redacted cache_control parts
    executableCode toolCall fileData inlineData mimeType parameters description INVALID_JSON _x""".split()
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
PARTS = VALUES | st.sampled_from(
    [
        text("a"),
        text(""),
        image(),
        image("https://x/y.png"),
        image("data:image/tiff;base64,AA=="),
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_data": "data:text/plain;base64,YQ=="}},
        {"type": "file", "file": {"file_id": "f"}},
        {"type": "refusal", "refusal": "no"},
    ]
)
HELD = st.dictionaries(
    st.sampled_from(
        """after thinking native order members turn block json is_error same_turn synthetic_id signature content_list
        from""".split()
    ),
    VALUES
    | st.just(True)
    | st.lists(
        st.sampled_from(
            [
                "content",
                "call",
                "native",
                "after",
                {"text": "a"},
                {"text": "r", "signature": SIGNATURE},
                {"signature": SIGNATURE},
                {"redacted": SIGNATURE},
                {"at": 0, "rest": {"cache_control": {"type": "ephemeral"}}},
                {"type": "server_tool_use", "id": "s", "name": "n", "input": {}},
                {"executableCode": {"code": "1"}},
                {"fileData": {"mimeType": "image/png"}},
            ]
        ),
        max_size=4,
    ),
    max_size=4,
)
IDS = st.sampled_from(["call_abc", "call_1", "call_2", "orphan_1", "functions.f:0", "functions_f_0", "", None, 3])
ARGUMENTS = st.sampled_from(["{}", "", "{bad", "[1]", "null", '{"a":1.0}', '{"INVALID_JSON":"a"}', "[" * 3000, None, 3])


@st.composite
def _held(draw: Any, holder: dict[str, Any]) -> dict[str, Any]:
    held = draw(HELD)
    return {**holder, PRIVATE: Private(held)} if held else holder


@st.composite
def _calls(draw: Any) -> Any:
    made = {**call("", ""), "id": draw(IDS), "function": {"name": draw(LEAVES), "arguments": draw(ARGUMENTS)}}
    custom = {"id": draw(IDS), "type": "custom", "custom": {"name": "f", "input": draw(LEAVES)}}
    return draw(st.sampled_from([draw(_held(made)), custom, {"id": "x"}, {"function": draw(VALUES)}, draw(LEAVES)]))


@st.composite
def _messages(draw: Any) -> Any:
    role = draw(st.sampled_from(["system", "developer", "user", "assistant", "assistant", "tool", "tool", "critic"]))
    message: dict[str, Any] = {"role": role, "content": draw(LEAVES | st.lists(PARTS, max_size=3) | VALUES)}
    if role == "assistant":
        message |= {"tool_calls": draw(st.lists(_calls(), max_size=3))} if draw(st.booleans()) else {}
        message |= {"reasoning_content": draw(LEAVES | st.just("r"))} if draw(st.booleans()) else {}
        message |= {"refusal": draw(LEAVES)} if draw(st.booleans()) else {}
    if role == "tool":
        message |= {"tool_call_id": draw(IDS), **draw(st.sampled_from([{}, {"name": "f"}, {"name": 3}]))}
    return draw(_held(message))


@st.composite
def _tools(draw: Any) -> Any:
    of = draw(st.sampled_from(["function", "custom"]))
    members = {"name": draw(LEAVES), "description": draw(LEAVES), "parameters": draw(VALUES), "strict": draw(LEAVES)}
    return draw(st.sampled_from([draw(_held({"type": of, of: members})), members, draw(VALUES)]))


CONVERSATIONS = st.builds(Conversation, st.lists(_messages(), max_size=6), st.lists(_tools(), max_size=2))


def links(messages: list[Any]) -> list[tuple[int, int] | None]:
    """For each result the place of the call that it answers: of the assistant before it, and of the call there."""
    places: dict[str, tuple[int, int]] = {}
    found: list[tuple[int, int] | None] = []
    count = 0
    for message in messages:
        if message["role"] == "assistant":
            for at, made in enumerate(message.get("tool_calls") or []):
                places[made["id"]] = (count, at)
            count += 1
        elif message["role"] == "tool":
            found.append(places.get(message["tool_call_id"]))
    return found


# What documents that hold everything hold

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "url", "file", "image_url", "file_data", "kind", "data", "media_type"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
_SHOWN = st.sampled_from(
    [text("A"), text(""), image(), image("x"), {"type": "refusal", "refusal": "no"}, {"type": "text"}, "bare"]
)
_CONTENT = st.text(max_size=4) | st.none() | st.lists(_SHOWN | _JSON, max_size=3) | _JSON
_SLOTS = st.dictionaries(
    st.sampled_from(
        ["thinking", "after", "json", "is_error", "native", "provider", "from", "feedback", "outcome", "signature"]
    ),
    _JSON
    | st.sampled_from(
        ["instructions", True, "retried", ["A"], [{"text": "A", "signature": "s"}], {"cause": "no_output"}]
    ),
    min_size=1,
    max_size=3,
).map(Private)


@st.composite
def _whole(draw: Any) -> Any:
    """A canonical message with odd values where these may be."""
    role = draw(st.sampled_from(["system", "developer", "user", "assistant", "assistant", "tool", "tool", "critic"]))
    message = {"role": role, "content": draw(_CONTENT)}
    ids = st.sampled_from(["a", "b", ""])
    if role == "tool":
        message["tool_call_id"] = draw(ids)
    if role == "assistant" and draw(st.booleans()):
        functions = st.fixed_dictionaries(
            {"name": st.just("f") | _JSON, "arguments": st.sampled_from(["{}", "", "[1]", '{"a": 1.0}', "{"])}
        )
        calls = st.fixed_dictionaries(
            {"id": ids, "type": st.just("function")}, optional={"function": functions, "custom": _JSON, PRIVATE: _SLOTS}
        )
        message["tool_calls"] = draw(st.lists(calls, min_size=1, max_size=3))
    extra = draw(st.dictionaries(st.sampled_from(["name", "refusal", "reasoning_content", "audio"]), _JSON, max_size=2))
    return {**message, **extra, **({PRIVATE: draw(_SLOTS)} if draw(st.booleans()) else {})}


HELD_WHOLE = st.builds(Conversation, st.lists(_whole(), max_size=6), st.just([]))
"""Canonical conversations with odd values only where a document has a place for any value."""
