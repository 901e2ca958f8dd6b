"""The kinds of content that conversations are made of, one small conversation each; made up.

``KINDS`` has them by the names of the rows of the round-trip table.  A result has a name only where no call tells it.
``settled`` gives what is compared: a conversation without what follows from the rest of it.  ``ODD`` draws conversations
with odd values, which every writer must take.
"""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from chatsquash import chat
from chatsquash.chat import PRIVATE, Private
from chatsquash.formats.calls import call_name
from chatsquash.model import Conversation

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\0\0\0\0").decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode()
SIGNATURE = base64.b64encode(b"signed by nobody").decode()

Message = dict[str, Any]


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


def private(holder: Message, **held: Any) -> Message:
    return {**holder, PRIVATE: Private(held)}


def _called(*calls: Message, content: Any = None) -> list[Message]:
    """A question, calls, a result for each, an answer."""
    answers = [result(f"result of {each['id']}", each["id"]) for each in calls]
    return [user(), said(content, *calls), *answers, said()]


def _told(answer: Message) -> list[Message]:
    """A conversation with one result."""
    return [user(), said(None, call()), answer, said()]


_THOUGHT = "The user wants the weather."
_CUSTOM = {"id": "call_abc", "type": "custom", "custom": {"name": "shell", "input": "ls -l | wc"}}
_AUDIO = {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}
_FILE = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "plan.pdf"}}
_TWO = (call("call_abc"), call("call_def", '{"city":"Rome"}', "traffic"))

_MESSAGES: dict[str, list[Message]] = {
    "system first": [system(), user(), said()],
    "system mid": [user(), said(), system("Answer in French."), user("And now?"), said("Il pleut.")],
    "developer role": [{"role": "developer", "content": "Be brief."}, user(), said()],
    "text": [user(), said()],
    "text part bounds": [user([text("How is the weather"), text("in Paris?")]), said()],
    "image data": [user([text("What is this?"), image()]), said()],
    "image between text": [user([text("What is this?"), image(), text("And this?")]), said()],
    "image url": [user([text("What is this?"), image("https://example.com/cat.png")]), said()],
    "audio": [user([text("What is said?"), _AUDIO]), said()],
    "pdf": [user([text("Sum this up."), _FILE]), said()],
    "tool call": _called(call()),
    "text+call": _called(call(), content="I look."),
    "no-arg call": _called(call(arguments="{}")),
    "args malformed": _called(call(arguments='{"city": "Par')),
    "args non-object": _called(call(arguments="[1, 2, 3]")),
    "args raw spacing": _called(call(arguments='{ "city" : "Paris" }')),
    "args unicode/big": _called(call(arguments='{"city":"Zürich 日本","n":12345678901234567890,"x":1.0}')),
    "text after call": [user(), private(said("I look.", call()), after=["Wait."]), result(), said()],
    "parallel calls": _called(*_TWO),
    "results reordered": [user(), said(None, *_TWO), result("jam", "call_def"), result("sun", "call_abc"), said()],
    "sequential calls": [*_called(_TWO[0])[:-1], said(None, _TWO[1]), result("jam", "call_def"), said()],
    "same tool twice": _called(call("call_abc"), call("call_def", '{"city":"Rome"}')),
    "empty result": _told(result("")),
    "result json obj": _told(private(result('{"sky":"clear","t":21}'), json=True)),
    "result json list": _told(private(result('["clear",21]'), json=True)),
    "result json-looking text": _told(result('{"sky": "clear"}')),
    "result image": _told(result([text("A picture:"), image()])),
    "result parts": _told(result([text("sunny"), text("21 degrees")])),
    "is_error": _told(private(result("no such city"), is_error=True)),
    "orphan result": [user(), result("left over", "call_gone", name="weather"), said()],
    "unanswered call": [user(), said(None, call())],
    "user after result": [user(), said(None, call()), result(), user("Thank you. And tomorrow?"), said()],
    "user user": [user(), user("In Rome, too."), said()],
    "asst asst": [user(), said(), said("It is warm.")],
    "empty asst": [user(), said(""), user("Well?"), said()],
    "reasoning": [user(), said(reasoning_content=_THOUGHT)],
    "reasoning+call": [user(), said(None, call(), reasoning_content=_THOUGHT), result(), said()],
    "anthropic signature": [
        user(),
        private(
            said(reasoning_content=_THOUGHT),
            thinking=[{"text": _THOUGHT, "signature": SIGNATURE}],
        ),
    ],
    "anthropic redacted": [user(), private(said(), thinking=[{"redacted": SIGNATURE}])],
    "openai encrypted": [
        user(),
        private(
            said(reasoning_content=_THOUGHT),
            thinking=[{"text": _THOUGHT, "encrypted": SIGNATURE, "id": "rs_abc"}],
        ),
    ],
    "gemini call sig": _called(private(call(), signature=SIGNATURE)),
    "refusal": [user(), said(None, refusal="I cannot help with that.")],
    "custom tool call": [user(), said(None, _CUSTOM), result("3"), said()],
}

KINDS: dict[str, Conversation] = {name: Conversation(held, []) for name, held in _MESSAGES.items()}  # type: ignore[arg-type]


def settled(messages: list[Any]) -> list[Message]:
    """Messages for a comparison: private slots as plain members, without what follows from the rest of the message.

    That is the name of an answered result, reasoning that is ``reasoning_content`` once more, and how the document
    spelled what canonical messages spell in one way only.
    """
    names = {each["id"]: call_name(each) for message in messages for each in chat.calls(message)}
    return [_settled(message, names) for message in messages]


def _settled(message: Message, names: dict[str, Any]) -> Message:
    held = {key: value for key, value in chat.private(message).items() if key not in _SPELLED}
    if held.get("thinking") == [{"text": message.get("reasoning_content")}]:
        del held["thinking"]
    plain = {key: value for key, value in message.items() if key != PRIVATE}
    if plain["role"] == "tool" and plain.get("name") == names.get(plain["tool_call_id"]):
        plain.pop("name", None)
    if "tool_calls" in plain:
        plain["tool_calls"] = [_settled_call(each) for each in plain["tool_calls"]]
    return {**plain, **({PRIVATE: held} if held else {})}


def _settled_call(call: Message) -> Message:
    held = dict(chat.private(call))
    return {**{key: value for key, value in call.items() if key != PRIVATE}, **({PRIVATE: held} if held else {})}


_SPELLED = ("from", "content_list", "part", "turn", "block", "annotations", "phase", "reasoning_key", "order")


# Odd values

_VIDEO = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["", "a", "{}", "\ud800", PNG])  # fmt: skip
_NAMES = st.sampled_from("type text refusal video_url image_url url detail input_audio data format file file_data file_id id function custom name arguments input _x role".split())  # fmt: skip
VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4), max_leaves=8)  # fmt: skip
_PARTS = (
    st.sampled_from([text("a"), image(), _VIDEO, _AUDIO, _FILE, {"type": "file", "file": {"file_data": "x"}}]) | VALUES
)
_HELD = st.dictionaries(
    st.sampled_from("after thinking native order phase annotations part from json is_error signature".split()), VALUES, max_size=4
)  # fmt: skip
_CALLS = st.builds(
    lambda made, held, odd: private({**made, **odd}, **held),
    st.sampled_from([call(), call("", "{bad"), {"type": "custom", "custom": {"name": "f", "input": "x"}}, {}]),
    _HELD,
    st.dictionaries(_NAMES, VALUES, max_size=2),
)
_ODD_MESSAGES = st.builds(
    lambda role, content, calls, held, odd: private(
        {"role": role, "content": content, **({"tool_calls": calls} if role == "assistant" else {}), **odd}, **held
    ),
    st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
    st.lists(_PARTS, max_size=4) | VALUES,
    st.lists(_CALLS, max_size=3),
    _HELD,
    st.dictionaries(
        st.sampled_from("name refusal reasoning_content tool_call_id audio function_call reasoning".split()), VALUES, max_size=2
    ),
)  # fmt: skip
ODD = st.builds(Conversation, st.lists(_ODD_MESSAGES, max_size=5), st.lists(VALUES, max_size=2))
