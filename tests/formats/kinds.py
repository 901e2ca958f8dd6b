"""The kinds of content that conversations are made of, one small conversation each; made up.

``KINDS`` has them by the names of the rows of the round-trip table.  A result has a name only where no call tells it.
``ODD`` draws conversations of messages with odd values, which every writer must take.
"""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from chatsquash.core.blocks import (
    Approval,
    Block,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Reasoning,
    Refusal,
    Result,
    Source,
    Text,
    Turn,
)
from chatsquash.core.model import Conversation
from chatsquash.formats import view

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\0\0\0\0").decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode()
SIGNATURE = base64.b64encode(b"signed by nobody").decode()

Message = dict[str, Any]


# Messages


def text(said: str) -> Message:
    return {"type": "text", "text": said}


def image(url: str = f"data:image/png;base64,{PNG}") -> Message:
    return {"type": "image_url", "image_url": {"url": url}}


def system(content: Any = "Be brief.") -> Message:
    return {"role": "system", "content": content}


def user(content: Any = "How is the weather in Paris?") -> Message:
    return {"role": "user", "content": content}


def said(content: Any = "It is sunny.", *calls: Message, **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more, **({"tool_calls": list(calls)} if calls else {})}


def call(call_id: str = "call_abc", arguments: str = '{"city":"Paris"}', name: str = "weather") -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content: Any = "sunny, 21 degrees", call_id: str = "call_abc", **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, **more, "content": content}


# Turns


def turn(role: str, *blocks: Block | str, **more: Any) -> Turn:
    return Turn(role, tuple(Text(block) if isinstance(block, str) else block for block in blocks), **more)


def asks(*blocks: Block | str) -> Turn:
    return turn("user", *(blocks or ("How is the weather in Paris?",)))


def says(*blocks: Block | str) -> Turn:
    return turn("assistant", *(blocks or ("It is sunny.",)))


def calling(call_id: str = "call_abc", arguments: str = '{"city":"Paris"}', name: str = "weather", **more: Any) -> Call:
    return Call(call_id, name, arguments, **more)


def gives(*content: Block | str, to: str = "call_abc", **more: Any) -> Result:
    """A result; one of no content is given as ``""``."""
    blocks = turn("tool", *(content or ("sunny, 21 degrees",))).blocks
    return Result(to, content=tuple(block for block in blocks if block != Text("")), **more)


def answers(*results: Result) -> Turn:
    return Turn("tool", results or (gives(),))


def conversation(*turns: Turn, tools: Any = (), native: Any = None) -> Conversation:
    return Conversation(view.public(turns), list(tools), turns=turns, native=native or {})


def _called(*calls: Call, before: str = "") -> list[Turn]:
    """A question, calls, a result for each, an answer."""
    results = [gives(f"result of {each.id}", to=each.id) for each in calls]
    return [asks(), says(*([before] if before else []), *calls), answers(*results), says()]


def _told(result: Result) -> list[Turn]:
    """A conversation with one result."""
    return [asks(), says(calling()), answers(result), says()]


_THOUGHT = "The user wants the weather."
_IMAGE = Media("image", "image/png", PNG)
_PDF = Media("file", "application/pdf", PDF, name="plan.pdf")
_TWO = (calling("call_abc"), calling("call_def", '{"city":"Rome"}', "traffic"))
_SEARCH = HostedCall("srv_abc", "web_search", '{"query":"weather in Paris"}', "anthropic")
_PAGE = {"url": "https://example.com/paris", "title": "Paris", "encrypted_content": SIGNATURE}
_FOUND = [{"type": "web_search_result", **_PAGE}]
_CACHED = {"anthropic": {"cache_control": {"type": "ephemeral"}}}

_TURNS: dict[str, list[Turn]] = {
    "system first": [turn("system", "Be brief."), asks(), says()],
    "two systems first": [turn("system", "Be brief."), turn("system", "Speak French."), asks(), says()],
    "instructions": [turn("system", "Be brief.", instructions=True), asks(), says()],
    "system mid": [asks(), says(), turn("system", "Answer in French."), asks("And now?"), says("Il pleut.")],
    "developer role": [turn("developer", "Be brief."), asks(), says()],
    "developer mid": [asks(), says(), turn("developer", "Answer in French."), asks("And now?"), says("Il pleut.")],
    "text": [asks(), says()],
    "text part bounds": [asks("How is the weather", "in Paris?"), says()],
    "image data": [asks("What is this?", _IMAGE), says()],
    "image between text": [asks("What is this?", _IMAGE, "And this?"), says()],
    "image url": [asks("What is this?", Media("image", url="https://example.com/cat.png")), says()],
    "audio": [asks("What is said?", Media("audio", "audio/wav", WAV)), says()],
    "video": [asks("What is shown?", Media("video", url="https://example.com/cat.mp4")), says()],
    "pdf": [asks("Sum this up.", _PDF), says()],
    "file id of OpenAI": [asks("Sum this up.", Media("file", file_id="file-abc", provider="openai")), says()],
    "file id of Anthropic": [asks("Sum this up.", Media("file", file_id="file_abc", provider="anthropic")), says()],
    "tool call": _called(calling()),
    "text+call": _called(calling(), before="I look."),
    "no-arg call": _called(calling(arguments="{}")),
    "args malformed": _called(calling(arguments='{"city": "Par')),
    "args non-object": _called(calling(arguments="[1, 2, 3]")),
    "args raw spacing": _called(calling(arguments='{ "city" : "Paris" }')),
    "args unicode/big": _called(calling(arguments='{"city":"Zürich 日本","n":12345678901234567890,"x":1.0}')),
    "text after call": [asks(), says("I look.", calling(), "Wait."), answers(), says()],
    "parallel calls": _called(*_TWO),
    "results reordered": [asks(), says(*_TWO), answers(gives("jam", to="call_def"), gives("sun")), says()],
    "sequential calls": [*_called(_TWO[0])[:-1], says(_TWO[1]), answers(gives("jam", to="call_def")), says()],
    "same tool twice": _called(calling("call_abc"), calling("call_def", '{"city":"Rome"}')),
    "empty result": _told(gives("")),
    "result json obj": _told(gives('{"sky":"clear","t":21}', json=True)),
    "result json list": _told(gives('["clear",21]', json=True)),
    "result json-looking text": _told(gives('{"sky": "clear"}')),
    "result image": _told(gives("A picture:", _IMAGE)),
    "result file": _told(gives(_PDF)),
    "result parts": _told(gives("sunny", "21 degrees")),
    "is_error": _told(gives("no such city", outcome="failed")),
    "denied result": _told(gives("The user said no.", outcome="denied")),
    "approval": [asks(), says(calling(), Approval("call_abc", "approval_abc", approved=True)), answers(), says()],
    "orphan result": [asks(), answers(gives("left over", to="call_gone", name="weather")), says()],
    "unanswered call": [asks(), says(calling())],
    "user after result": [asks(), says(calling()), answers(), asks("Thank you. And tomorrow?"), says()],
    "user user": [asks(), asks("In Rome, too."), says()],
    "asst asst": [asks(), says(), says("It is warm.")],
    "empty asst": [asks(), turn("assistant"), asks("Well?"), says()],
    "reasoning": [asks(), says(Reasoning(_THOUGHT), "It is sunny.")],
    "reasoning+call": [asks(), says(Reasoning(_THOUGHT), calling()), answers(), says()],
    "reasoning of two blocks": [asks(), says(Reasoning(_THOUGHT), Reasoning("I look it up."), "It is sunny.")],
    "reasoning between": [asks(), says("I look.", Reasoning(_THOUGHT), calling()), answers(), says()],
    "anthropic signature": [asks(), says(Reasoning(_THOUGHT, "anthropic", SIGNATURE), "It is sunny.")],
    "anthropic redacted": [asks(), says(Reasoning(signer="anthropic", encrypted=SIGNATURE), "It is sunny.")],
    "openai encrypted": [asks(), says(Reasoning(_THOUGHT, "openai", encrypted=SIGNATURE, id="rs_abc"), "It is sunny.")],
    "gemini call sig": _called(calling(native={"google": {"thoughtSignature": SIGNATURE}})),
    "refusal": [asks(), says(Refusal("I cannot help with that."))],
    "custom tool call": [asks(), says(Call("call_abc", "shell", "ls -l | wc", custom=True)), answers(gives("3")), says()],
    "hosted call": [asks(), says(_SEARCH, HostedResult("srv_abc", "web_search", _FOUND, provider="anthropic"), "It is sunny.")],
    "unanswered hosted call": [asks(), says("I search.", _SEARCH)],
    "source": [asks(), says("It is sunny.", Source("https://example.com/paris", "Paris"))],
    "native members": [turn("user", Text("How is the weather in Paris?", native=_CACHED)), says()],
}  # fmt: skip

KINDS: dict[str, Conversation] = {name: conversation(*turns) for name, turns in _TURNS.items()}


# Odd values

_VIDEO = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}
_AUDIO = {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}
_FILE = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "plan.pdf"}}
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["", "a", "{}", "\ud800", PNG])  # fmt: skip
_NAMES = st.sampled_from("type text refusal video_url image_url url detail input_audio data format file file_data file_id id function custom name arguments input _x role".split())  # fmt: skip
VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4), max_leaves=8)  # fmt: skip
_PARTS = (
    st.sampled_from([text("a"), image(), _VIDEO, _AUDIO, _FILE, {"type": "file", "file": {"file_data": "x"}}]) | VALUES
)
_CALLS = st.builds(
    lambda made, odd: {**made, **odd},
    st.sampled_from([call(), call("", "{bad"), {"type": "custom", "custom": {"name": "f", "input": "x"}}, {}]),
    st.dictionaries(_NAMES, VALUES, max_size=2),
)
_ODD_MESSAGES = st.builds(
    lambda role, content, calls, odd: {
        "role": role, "content": content, **({"tool_calls": calls} if role == "assistant" else {}), **odd
    },
    st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
    st.lists(_PARTS, max_size=4) | st.sampled_from([None, "", "a", "{}", "ERROR: a"]),
    st.lists(_CALLS, max_size=3),
    st.dictionaries(
        st.sampled_from("name refusal reasoning_content tool_call_id audio function_call reasoning annotations".split()),
        VALUES,
        max_size=2,
    ),
)  # fmt: skip
ODD = st.builds(Conversation, st.lists(_ODD_MESSAGES, max_size=5), st.lists(VALUES, max_size=2))
"""Conversations of messages with values that nobody expects, for writers that must hold whatever they are given."""
