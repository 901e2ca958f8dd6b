"""The replies of a conversation as steps compare them: turn by turn, with digests of calls and results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import Struct
from xxhash import xxh3_128_digest

from chatsquash.checks.registry import View
from chatsquash.checks.results import State, ToolCall, exchanges
from chatsquash.checks.steps.client_texts import is_client_request, is_interruption, is_note, request_text
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message


class StepCall(Struct, frozen=True, gc=False):
    """A call of a reply."""

    name: str
    arguments: Json
    """The parsed arguments, or the text if they are not JSON."""
    key: bytes
    """A digest of the tool and the arguments, regardless of the order of members and of white space."""
    state: State
    results: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The text of its results."""
        return "\n".join(chat.text(result) or "" for result in self.results)


class Step(Struct, frozen=True, gc=False):
    """An assistant message and the messages up to the next one."""

    at: int
    """The index of the message."""
    turn: int
    """The number of the turn, which begins with messages of the user or an interruption."""
    text: str
    calls: tuple[StepCall, ...]
    following: tuple[Message, ...]
    """The messages before the next assistant message."""


class UserRequest(NamedTuple):
    """The request of the user before a turn."""

    text: str
    attachments: bytes
    """A digest of its content without text, such as images; empty if it has none."""
    step: int
    """The index of the step before it; -1 at the beginning."""


class Turns(NamedTuple):
    """The replies of a conversation and the user's requests, each in order."""

    steps: list[Step]
    requests: list[UserRequest]


def turns(view: View) -> Turns:
    """Divide a conversation into turns of the user; notes and observations of the client do not begin a turn."""
    calls_by_message: dict[int, list[ToolCall]] = {}
    for call in view.once(exchanges).calls:
        calls_by_message.setdefault(call.at, []).append(call)
    messages = view.messages
    places = [at for at, message in enumerate(messages) if message.get("role") == "assistant"]
    steps: list[Step] = []
    requests = _requests(messages[: places[0] if places else len(messages)], -1)
    turn = 0
    for at, end in pairwise([*places, len(messages)]):
        following = tuple(messages[at + 1 : end])
        text = (chat.text(messages[at]) or "").strip()
        calls = tuple(_step_call(messages, call) for call in calls_by_message.get(at, ()))
        steps.append(Step(at, turn, text, calls, following))
        requests += _requests(following, len(steps) - 1)
        turn += any(map(_begins_turn, following))
    return Turns(steps, requests)


def _begins_turn(message: Message) -> bool:
    if message.get("role") != "user":
        return False
    return is_interruption(chat.text(message) or "") or not _is_from_client(message)


def _requests(messages: Sequence[Message], step: int) -> list[UserRequest]:
    """Return what the user wrote in messages without a reply between them, as at most one request."""
    own_messages = [message for message in messages if message.get("role") == "user" and not _is_from_client(message)]
    if not own_messages:
        return []
    parts = [part for message in own_messages for part in chat.other_parts(message)]
    attachments = xxh3_128_digest(jsonio.dumps(parts)) if parts else b""
    return [
        UserRequest("\n".join(request_text(chat.text(message) or "") for message in own_messages), attachments, step)
    ]


def _is_from_client(message: Message) -> bool:
    text = chat.text(message) or ""
    return (is_note(text) and not chat.other_parts(message)) or is_client_request(text)


def _step_call(messages: list[Message], call: ToolCall) -> StepCall:
    arguments, encoded = _parse(_logged_arguments(call.call_object))
    name = call.name or _custom_name(call.call_object)
    key = xxh3_128_digest(name.encode("utf-8", "surrogatepass") + b"\0" + encoded)
    return StepCall(name, arguments, key, call.state, tuple(messages[result.at] for result in call.results))


def _logged_arguments(call_object: dict[str, Any]) -> Json:
    """Return the arguments of a function, or the input of a custom tool."""
    for kind, member in (("function", "arguments"), ("custom", "input")):
        holder = call_object.get(kind)
        if isinstance(holder, dict) and member in holder:
            return holder[member]
    return None


def _custom_name(call_object: dict[str, Any]) -> str:
    custom = call_object.get("custom")
    name = custom.get("name") if isinstance(custom, dict) else None
    return name if isinstance(name, str) else ""


def _parse(arguments: Json) -> tuple[Json, bytes]:
    """Return parsed arguments, and a spelling of them that is equal for equal arguments."""
    value = arguments
    if isinstance(arguments, str):
        value = jsonio.value(arguments, _INVALID) if arguments.strip() else {}
        if value is _INVALID:
            text = arguments.strip()
            return text, text.encode("utf-8", "surrogatepass")
    return value, jsonio.dumps({} if value is None else value, sort_keys=True)


_INVALID: Any = object()


def command_text(call: StepCall) -> str:
    """Return the shell command that a call runs, or an empty string."""
    arguments = call.arguments
    for name in ("command", "cmd") if isinstance(arguments, dict) else ():
        value = arguments.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and isinstance(value[-1], str):
            return value[-1]
    return ""
