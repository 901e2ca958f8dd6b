"""UI messages as canonical ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chatsquash import reasoning
from chatsquash.chat import BREAKS
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError, with_native, with_private
from chatsquash.formats.calls import State, arguments, assistant, made_up, result, tool_call
from chatsquash.formats.clients.pydantic_ai import thinking as signed
from chatsquash.formats.clients.pydantic_ai.read import output
from chatsquash.formats.clients.pydantic_ai.remainder import KEY
from chatsquash.formats.clients.vercel_ai import media, thinking
from chatsquash.formats.values import Object, at, compact, kind, objects, string
from chatsquash.model import Json, Message

MARKS = f"data-{KEY}"
"""The part that holds what the others of its step do not say."""
DENIED = "Tool call execution denied."
"""What the AI SDK tells the model of a call that was denied without a reason."""
_ROLES = ("system", "user", "assistant")
_ANSWERED = ("output-available", "output-error", "output-denied")
_SPOKEN = ("text", "reasoning", "file")


class Told(NamedTuple):
    """A message, and what the document says of it beside."""

    message: Message
    rest: Json
    """Its remainder."""
    place: Json = None
    """Where it stands among all messages, if not where it is read."""
    call: int | None = None
    """For a result, how many messages stand before the one with its call."""
    turn: int = 0
    """The message of the document that it is from."""


def read(turns: list[Json]) -> list[Told]:
    """The messages that a document tells, results behind the step that calls for them."""
    found: list[Told] = []
    native: list[Json] = []
    state = State()
    for number, turn in enumerate(turns):
        role, held = _opened(number, turn)
        before = len(found)
        if role == "assistant":
            state = _assistant(held, found, native, state)
        else:
            first, *others = _prompts(held)
            found.append(Told(_heard(role, first, native), at(turn, "metadata", KEY)))
            found += [Told(_heard(role, other, native), None) for other in others]
        if native and found:
            found[-1] = found[-1]._replace(message=with_native(found[-1].message, native))
            native = []
        found[before:] = [told._replace(turn=number) for told in found[before:]]
    return _placed(found)


def _opened(number: int, turn: Json) -> tuple[str, list[tuple[str, Object]]]:
    """The role of a message, and its parts, each with its place in words."""
    if not isinstance(turn, dict):
        raise TurnError(f"[{number}] is {kind(turn)}, not an object")
    if turn.get("role") not in _ROLES:
        raise TurnError(f"[{number}] has a role that is none of {', '.join(_ROLES)}")
    if not isinstance(turn.get("parts"), list):
        raise TurnError(f"[{number}] has no list of parts")
    for place, part in enumerate(turn["parts"]):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise TurnError(f"[{number}].parts[{place}] has no type")
        if part["type"] == "tool-invocation":
            raise TurnError(f"[{number}].parts[{place}] is of the AI SDK 4, whose messages are not read")
    return turn["role"], [(f"[{number}].parts[{place}]", part) for place, part in enumerate(turn["parts"])]


def _placed(found: list[Told]) -> list[Told]:
    """With results where they stood, unless that would be before their calls."""
    moved = sorted((told for told in found if type(told.place) is int), key=lambda told: told.place)
    if not moved:
        return found
    order = [told for told in found if type(told.place) is not int]
    for told in moved:
        order.insert(told.place, told)
    stands = {id(told): place for place, told in enumerate(order)}
    fits = all(told.call is None or stands[id(found[told.call])] < stands[id(told)] for told in found)
    return order if fits else found


def text(part: Object, where: str) -> str:
    """The text of a part."""
    if not isinstance(part.get("text"), str):
        raise TurnError(f"{where} has no text")
    return str(part["text"])


def _prompts(held: list[tuple[str, Object]]) -> list[list[tuple[str, Object]]]:
    """Parts by prompts, since Pydantic AI puts several into one message and marks where one starts."""
    prompts: list[list[tuple[str, Object]]] = [[]]
    for where, part in held:
        if prompts[-1] and at(part, "providerMetadata", thinking.PYDANTIC, "user_prompt_start") is True:
            prompts.append([])
        prompts[-1].append((where, part))
    return prompts


def _heard(role: str, held: list[tuple[str, Object]], native: list[Json]) -> Message:
    """A message of anybody but the assistant."""
    content: list[Json] = []
    for where, part in held:
        shown = parts.text(text(part, where)) if part["type"] == "text" else media.part(part)
        (native if shown is None else content).append(part if shown is None else shown)
    return {"role": role, "content": parts.content(content)}


# The assistant


def _assistant(held: list[tuple[str, Object]], found: list[Told], native: list[Json], state: State) -> State:
    """A message per step, with its results behind it."""
    for step in _steps(held):
        if step[0][1]["type"] == "steering-message":
            steered = [(step[0][0], part) for part in objects(step[0][1].get("parts")) if string(part, "type")]
            found.append(Told(_heard("user", steered, native), None))
        else:
            state = _Step(step, state).told(found, native)
    return state


def _steps(held: list[tuple[str, Object]]) -> Iterator[list[tuple[str, Object]]]:
    """Parts by steps; where no step is marked, what is said behind an answered call is of the next."""
    marked = any(part["type"] == "step-start" for _, part in held)
    step: list[tuple[str, Object]] = []
    answered = False
    for where, part in held:
        of = part["type"]
        if step and (of in ("step-start", "steering-message") or (not marked and answered and of in _SPOKEN)):
            yield step
            step, answered = [], False
        if of == "steering-message":
            yield [(where, part)]
        elif of != "step-start":
            step.append((where, part))
            answered = answered or (is_tool(part) and part.get("state") in _ANSWERED)
    if step:
        yield step


def is_tool(part: Object) -> bool:
    """Whether a part is a call of a tool that the client runs."""
    return (part["type"] == "dynamic-tool" or part["type"].startswith("tool-")) and not part.get("providerExecuted")


class _Step:
    """A step while its parts are read."""

    def __init__(self, held: list[tuple[str, Object]], state: State) -> None:
        self.state, self.rest = state, None
        self.content: list[Json] = []
        self.after: list[str] = []
        self.thoughts: list[Object] = []
        self.calls: list[Object] = []
        self.native: list[Json] = []
        self.answers: list[tuple[Object, str, str]] = []
        self.speaks = False
        self.seams = parts.Seams()
        for where, part in held:
            self.add(part, where)

    def add(self, part: Object, where: str) -> None:
        """Take one part."""
        of = part["type"]
        self.speaks = self.speaks or of in _SPOKEN or of in (MARKS, media.PART)
        if of == MARKS:
            self.rest = part.get("data")
        elif of == "text":
            self.say(text(part, where), string(at(part, "providerMetadata", "google"), "thoughtSignature"))
        elif of == "reasoning":
            text(part, where)
            self.thoughts.append(thinking.as_part(part))
            self.seams.other()
        elif is_tool(part):
            self.call(part, where)
        elif not self.calls and (shown := media.part(part)):
            self.show(shown)
        else:
            self.native.append(part)
            self.seams.other()

    def say(self, said: str, signature: str) -> None:
        """Text stands before or behind the calls."""
        self.after += [said] if self.calls else []
        if not self.calls:
            self.show(parts.text(said))
        self.thoughts += [{"content": "", "signature": signature}] if signature else []

    def show(self, part: Object) -> None:
        """Add a part of the content."""
        self.seams.part(len(self.content))
        self.content.append(part)

    def call(self, part: Object, where: str) -> None:
        """A call, unless the part is only a result, and its result."""
        name = part.get("toolName") if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-")
        if not isinstance(name, str):
            raise TurnError(f"{where} has no toolName")
        answered = string(part, "toolCallId")
        if at(part, "callProviderMetadata", KEY, "orphan") is not True:
            call = _call(part, name, self.state.call + made_up(self.calls))
            self.calls.append(call)
            answered = call["id"]
        elif not answered:
            answered, self.state = self.state.lose()
        if part.get("state") in _ANSWERED:
            self.answers.append((part, answered, name))

    def told(self, found: list[Told], native: list[Json]) -> State:
        """Add the step's message and its results; what is none of them goes to ``native``."""
        native += self.native
        before = len(found)
        if self.speaks or self.calls:
            found.append(Told(self.message(), self.rest))
        ids = {call["id"] for call in self.calls}
        for part, answered, name in self.answers:
            own = at(part, "callProviderMetadata", KEY)
            message = _result(part, answered, name)
            found.append(Told(message, at(own, "result"), at(own, "place"), before if answered in ids else None))
        return self.state.called(self.calls).but(open=())

    def message(self) -> Message:
        """All that was said and called."""
        blocks = thinking.merged([block for part in self.thoughts if (block := signed.block(part))])
        content = parts.content(self.content, beside_calls=bool(self.calls))
        message = assistant(content, reasoning.joined(blocks), self.calls)
        provider = next(filter(None, map(signed.signer, self.thoughts)), None)
        extra = {"after": self.after, "thinking": signed.worth_keeping(blocks), "provider": provider}
        return with_private(message, {**extra, BREAKS: self.seams.breaks})


def _call(part: Object, name: str, number: int) -> Object:
    given = part["input"] if part.get("input") is not None else part.get("rawInput")
    metadata = part.get("callProviderMetadata")
    signature = string(at(metadata, "google"), "thoughtSignature")
    signature = signature or at(metadata, thinking.PYDANTIC, "provider_details", "thought_signature")
    extra = {"signature": signature, "approval": part.get("approval") if part.get("state") != "output-denied" else None}
    return tool_call(string(part, "toolCallId"), number, {"name": name, "arguments": arguments(given)}, extra)


def _result(part: Object, answered: str, name: str) -> Message:
    claimed = at(part, "callProviderMetadata", thinking.PYDANTIC, "outcome")
    logged = bool(string(part, "toolCallId"))
    match part["state"]:
        case "output-error":
            told = part.get("errorText")
            content: Json = told if isinstance(told, str) else compact(told)
            extra: Object = {"is_error": True, "outcome": "retried" if claimed == "retried" else None}
        case "output-denied":
            content, extra = string(part.get("approval"), "reason") or DENIED, {"outcome": "denied"}
        case _:
            content, extra = output(part.get("output"))
            extra = {**extra, "outcome": "interrupted" if claimed == "interrupted" else None}
    return with_private(result(answered, name, content), {**extra, "synthetic_id": not logged})
