"""Conversations of turns with values that nobody expects, for writers that must hold whatever they are given."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from chatsquash.core.blocks import (
    Approval,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Other,
    Reasoning,
    Refusal,
    Result,
    Source,
    Text,
    Turn,
)
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation
from chatsquash.formats import view
from chatsquash.formats.calls import EMPTY
from tests.formats.kinds import PDF, PNG, SIGNATURE, WAV

LEAVES = st.sampled_from([None, True, 0, -1, 1.5, 10**30, "", "a", "{}", "\ud800", "data:,", "https://x/y", PNG])
NAMES = st.sampled_from(
    """type text refusal image_url url input_audio data format file file_data file_id file_url filename function custom
    name arguments input id at rest source media_type content thinking signature redacted cache_control parts
    executableCode toolCall fileData inlineData mimeType parameters description INVALID_JSON _x""".split()
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
PROVIDERS = (
    "anthropic", "google", "openai", "openai_chat", "ollama", "pydantic_ai", "vercel_ai", "oumi", "portable", "clippy",
    "x",
)  # fmt: skip
_MEMBERS = {
    "cache_control": {"type": "ephemeral"},
    "thoughtSignature": SIGNATURE,
    "phase": "final_answer",
    "citations": [{"type": "char_location", "cited_text": "a"}],
    "metadata": {"a": 1},
    "detail": "high",
    "unknown": [None, {"a": []}],
}
NATIVE = st.just({}) | st.dictionaries(
    st.sampled_from(PROVIDERS),
    st.dictionaries(
        st.sampled_from(list(_MEMBERS)), VALUES.filter(lambda value: value not in EMPTY), min_size=1, max_size=2
    )
    | st.sampled_from([{name: value} for name, value in _MEMBERS.items()]),
    max_size=2,
)
"""What providers alone know, under names of theirs."""
TEXTS = st.sampled_from(["a", " b", "c\n", "\n\n", "{}", "ERROR: a", "<system>a</system>", "\ud800", "é 日本"])
_OR_EMPTY = st.just("") | TEXTS
_SIGNERS = st.sampled_from(["", "anthropic", "google", "openai", "x"])
_IDS = st.sampled_from(["call_abc", "call_1", "call_2", "orphan_1", "functions.f:0", "functions_f_0", "", "é"])
_TOOLS = st.sampled_from(["f", "functions.g", "", "web_search", "é h"])
_ARGUMENTS = st.sampled_from(["{}", "", "{bad", "[1]", "null", '{"a":1.0}', '{"INVALID_JSON":"a"}', "[" * 3000])
_OUTCOMES = st.sampled_from(["success", "success", "failed", "denied", "interrupted", "retried"])

_SPOKEN = st.builds(Text, TEXTS, st.booleans(), NATIVE)
_PLACES = st.sampled_from(
    [
        ("image", {"mime": "image/png", "data": PNG}),
        ("image", {"mime": "image/tiff", "data": "AA=="}),
        ("image", {"url": "https://x/y.png"}),
        ("image", {"file_id": "file_a"}),
        ("audio", {"mime": "audio/wav", "data": WAV}),
        ("audio", {"mime": "audio/ogg", "data": "AA=="}),
        ("audio", {"url": "https://x/y.wav"}),
        ("video", {"mime": "video/mp4", "data": "AA=="}),
        ("video", {"url": "https://x/y.mp4"}),
        ("file", {"mime": "application/pdf", "data": PDF, "name": "a.pdf"}),
        ("file", {"mime": "text/plain", "data": "YQ=="}),
        ("file", {"data": "AA=="}),
        ("file", {"url": "https://x/y.pdf", "mime": "application/pdf"}),
        ("file", {"file_id": "file_a", "name": "a.pdf"}),
    ]
)
_SHOWN = st.builds(lambda place, native: Media(place[0], **place[1], native=native), _PLACES, NATIVE)
_REFUSED = st.builds(Refusal, TEXTS, NATIVE)
_CITED = st.builds(Source, st.sampled_from(["", "https://x/y"]), _OR_EMPTY, _OR_EMPTY, _OR_EMPTY, _OR_EMPTY, NATIVE)
_OTHERS = st.builds(Other, st.sampled_from(PROVIDERS), VALUES)
_THOUGHT = st.builds(
    Reasoning,
    _OR_EMPTY,
    _SIGNERS,
    st.sampled_from(["", SIGNATURE]),
    st.sampled_from(["", SIGNATURE]),
    _OR_EMPTY,
    NATIVE,
)
_CALLED = st.builds(Call, _IDS, _TOOLS | st.none(), _ARGUMENTS, st.booleans(), st.just(value=False), NATIVE)
_HOSTED = st.builds(HostedCall, _IDS, _TOOLS, _ARGUMENTS, st.sampled_from(["", *PROVIDERS]), NATIVE)
_GIVEN = st.builds(HostedResult, _IDS, _TOOLS, VALUES, _OUTCOMES, st.sampled_from(["", *PROVIDERS]), NATIVE)
_ASKED = st.builds(Approval, _IDS, _OR_EMPTY, st.none() | st.booleans(), _OR_EMPTY, NATIVE)
_CONTENT = st.lists(_SPOKEN | _SHOWN | _REFUSED | _CITED | _OTHERS, max_size=3).map(tuple)
_RESULTS = st.builds(Result, _IDS, _TOOLS, _CONTENT, st.just(value=False), _OUTCOMES, st.just(value=False), NATIVE)
_AS_JSON = st.builds(
    Result,
    _IDS,
    _TOOLS,
    st.sampled_from(['{"a":1.0}', "[]", "null", "3", '[{"type":"text","text":"a"}]', '{"output":"a"}']).map(lambda said: (Text(said),)),
    st.just(value=True),
    _OUTCOMES,
    st.just(value=False),
    NATIVE,
)  # fmt: skip

_BLOCKS = {
    "system": _SPOKEN | _OTHERS,
    "developer": _SPOKEN,
    "user": _SPOKEN | _SPOKEN | _SHOWN | _OTHERS,
    "assistant": st.one_of(_SPOKEN, _SPOKEN, _CALLED, _CALLED, _THOUGHT, _SHOWN, _REFUSED, _CITED, _HOSTED, _GIVEN, _ASKED, _OTHERS),
    "tool": _RESULTS | _AS_JSON,
    "critic": _SPOKEN,
}  # fmt: skip
"""What may stand in the turns of each role; a log may have any."""


@st.composite
def _turns(draw: Any) -> Turn:
    role = draw(st.sampled_from(["system", "developer", "user", "user", "assistant", "assistant", "assistant", "tool", "tool", "critic"]))  # fmt: skip
    blocks = draw(st.lists(_BLOCKS[role], min_size=role == "tool", max_size=4))
    return Turn(role, tuple(blocks), role == "system" and draw(st.booleans()), draw(NATIVE))


def _apart(turns: list[Turn]) -> list[Turn]:
    """Turns of which no two of results follow each other, since these are one."""
    return [turn for at, turn in enumerate(turns) if not (at and turn.role == turns[at - 1].role == "tool")]


@st.composite
def _definitions(draw: Any) -> Any:
    of = draw(st.sampled_from(["function", "custom"]))
    members = {"name": draw(LEAVES), "description": draw(LEAVES), "parameters": draw(VALUES), "strict": draw(LEAVES)}
    whole = {"type": of, of: members}
    native = draw(NATIVE)
    return draw(st.sampled_from([{**whole, PRIVATE: Private(native)} if native else whole, members, draw(VALUES)]))


def _conversation(turns: list[Turn], tools: list[Any], native: Any) -> Conversation:
    return Conversation(view.public(turns), tools, turns=tuple(turns), native=native)


CONVERSATIONS = st.builds(
    _conversation, st.lists(_turns(), max_size=6).map(_apart), st.lists(_definitions(), max_size=2), NATIVE
)


def links(turns: Any) -> list[tuple[int, int] | None]:
    """For each result the place of the call that it answers: of the assistant's turn before it, and of the call there."""
    places: dict[str, tuple[int, int]] = {}
    found: list[tuple[int, int] | None] = []
    count = 0
    for turn in turns:
        calls = [block for block in turn.blocks if isinstance(block, Call)]
        places |= {made.id: (count, at) for at, made in enumerate(calls)}
        count += turn.role == "assistant"
        found += [places.get(block.id) for block in turn.blocks if isinstance(block, Result)]
    return found
