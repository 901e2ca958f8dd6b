"""A composer of the IDE: bubbles (prompts, thoughts, text, calls with results) and summaries among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.cursor.messages import reply, thought
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import function_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, bounds, moment, origin_of, with_origin
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import ThreadEntry, load_paths
from chatsquash.formats.values import Object, as_list, at, compact, count, kind, members, objects, string

_HEADERS, _INLINE, _MAP = "fullConversationHeadersOnly", "conversation", "conversationMap"
_LATEST = "latestConversationSummary"
_READ = (
    *("composerId", "createdAt", "lastUpdatedAt", "modelConfig", "subagentInfo", "bubbles", "header"),
    *(_HEADERS, _INLINE, _MAP, _LATEST),
)
_TASK = "task-"
"""The prefix of sub-agent ids that contain the id of the call that started them."""
_UNKNOWN = "default"
"""The logged model name if Cursor selects the model."""


def is_one(value: Json) -> bool:
    """Return whether an object is a session of the IDE."""
    if not isinstance(value, dict) or not isinstance(value.get("composerId"), str):
        return False
    return isinstance(value.get(_HEADERS), list) or isinstance(value.get(_INLINE), list)


def conversations(place: str, line: int, value: Object, unread: Unread) -> list[Conversation]:
    """Return the conversation at the end, then the parts that summaries replaced.

    Bubbles that are not listed in the headers were undone, and their order is unknown.
    """
    unread.count_members("composer", value, *_READ)
    bubbles = _bubbles(place, value, unread)
    if not bubbles:
        return []
    model = string(value.get("modelConfig"), "modelName")
    reader = BubbleReader(line, "" if model == _UNKNOWN else model, unread)
    groups = list(_groups(bubbles))
    turns = [tuple(reader.turns(group)) for group in groups]
    steps = [ThreadEntry(each, any(turn.evidence.is_sampled for turn in each)) for each in turns]
    steps, path = _with_summaries(steps, groups, value, line)
    known = {"session_id": string(value, "composerId")} | bounds(value.get("createdAt"), value.get("lastUpdatedAt"))
    converted = load_paths(openai_chat, steps, [path], known)
    return [_with_links(each, value, bubbles, unread) for each in converted]


# The bubbles


def _bubbles(place: str, value: Object, unread: Unread) -> list[Bubble]:
    inline = [each for each in objects(value.get(_INLINE)) if string(each, "bubbleId")]
    by_name = {each["bubbleId"]: each for each in inline}
    # Newer versions store bubbles separately, older versions inside the composer.
    by_name |= members(value.get(_MAP)) | members(value.get("bubbles"))
    order = as_list(value.get(_HEADERS)) or inline
    result, known_names = list[Bubble](), set[str]()
    for header in order:
        name = string(header, "bubbleId")
        if name in known_names:
            continue
        known_names.add(name)
        bubble = by_name.get(name)
        where = f"{place}, bubble {name[:80]}"
        if bubble is None:
            unread.count("missing bubble")
        elif not isinstance(bubble, dict):
            raise TurnError(f"{where} is {kind(bubble)}, expected an object")
        else:
            result.append(Bubble(where, name, bubble))
    for _ in range(sum(name not in known_names for name in by_name)):
        unread.count("bubble that was undone")
    return result


def _groups(bubbles: list[Bubble]) -> list[list[Bubble]]:
    """Group the bubbles of each prompt and of each reply; calls of the same reply share the model's call id."""
    groups: list[list[Bubble]] = []
    for bubble in bubbles:
        before = groups[-1][-1] if groups else None
        if before is None or not before.is_continued_by(bubble):
            groups.append([])
        groups[-1].append(bubble)
    return groups


# Summaries


def _with_summaries(
    steps: list[ThreadEntry], groups: list[list[Bubble]], value: Object, line: int
) -> tuple[list[ThreadEntry], list[int]]:
    """Return the entries with the summaries appended, and the path through all of them in order."""
    places = {bubble.name: place for place, group in enumerate(groups) for bubble in group}
    latest = at(value, _LATEST, "summary")
    candidates = ((place, summary(bubble.value)) for place, group in enumerate(groups) for bubble in group)
    summaries = [(place, each) for place, each in candidates if each]
    latest_text = string(latest, "summary")
    # The latest summary may also be stored in a bubble.
    if latest_text and latest_text not in [each["summary"] for _, each in summaries]:
        last = string(value.get(_LATEST), "lastBubbleId") or string(latest, "truncationLastBubbleIdInclusive")
        summaries += [(places[last], latest)] if last in places else []
    positions = sorted(((place, number) for number, (place, _) in enumerate(summaries)))
    path, at_step = list[int](), 0
    entries = list(steps)
    for place, number in positions:
        path += range(at_step, place + 1)
        at_step = max(at_step, place + 1)
        path.append(len(entries))
        entries.append(_summary(summaries[number][1], places, line))
    return entries, [*path, *range(at_step, len(steps))]


def _summary(value: Object, places: dict[str, int], line: int) -> ThreadEntry:
    """Return the entry of a summary, with a user turn and the first entry that is kept."""
    first_kept = places.get(string(value, "clientShouldStartSendingFromInclusiveBubbleId"))
    if first_kept is None and (last := places.get(string(value, "truncationLastBubbleIdInclusive"))) is not None:
        # The truncated bubbles include the last one.
        first_kept = last + 1
    turn = {"role": "user", "content": value["summary"]}
    return ThreadEntry((LoggedTurn("a summary", turn, Evidence(line)),), is_summary=True, first_kept=first_kept)


# Links to other sessions


def _with_links(conversation: Conversation, value: Object, bubbles: list[Bubble], unread: Unread) -> Conversation:
    """Return a conversation linked to the call that started it and the sub-agents that it started."""
    calls_by_agent = dict(pair for bubble in bubbles if (pair := subagent_call(bubble.value)))
    name, header = string(value, "composerId"), value.get("header")
    unread.count_members("header", header, "isSubagent", "subagentInfo", "composerId", "createdAt", "lastUpdatedAt")
    subagent = next((info for each in (value, header) if isinstance(info := at(each, "subagentInfo"), dict)), {})
    is_inner = bool(subagent) or name.startswith(_TASK) or at(header, "isSubagent") is True
    if is_inner and origin_of(conversation).kind == "main":
        call = string(subagent, "toolCallId") or (name.removeprefix(_TASK) if name.startswith(_TASK) else "")
        conversation = with_origin(
            conversation,
            id=origin_of(conversation).id or name,
            kind="subagent",
            parent=string(subagent, "parentComposerId") or None,
            call=call or None,
        )
    return with_origin(conversation, began=calls_by_agent) if calls_by_agent else conversation


_USER, _MODEL = 1, 2
_CALL, _SUMMARY = "toolFormerData", "conversationSummary"
_BUBBLE = (
    *("_v", "type", "bubbleId", "text", "thinking", "createdAt", "modelInfo", "tokenCount"),
    *(_CALL, _SUMMARY, "capabilityType"),
)
_CALL_MEMBERS = (
    "tool",
    "name",
    "toolCallId",
    "modelCallId",
    "toolIndex",
    "params",
    "rawArgs",
    "result",
    "status",
    "error",
)
_OUTCOMES = {"error": "failed", "cancelled": "interrupted"}
_DENIED = "rejected"


class Bubble(NamedTuple):
    """A bubble and its place."""

    place: str
    name: str
    value: Object

    @property
    def call(self) -> Object | None:
        """The call in it, or ``None``."""
        call = self.value.get(_CALL)
        return call if isinstance(call, dict) and string(call, "name") else None

    def is_continued_by(self, other: Bubble) -> bool:
        """Return whether the next bubble belongs to the same reply; after a call, only calls of the same reply do."""
        if not self.value.get("type") == other.value.get("type") == _MODEL:
            return False
        if self.call is None:
            return True
        call_id = string(self.call, "modelCallId")
        return bool(call_id and call_id == string(other.call, "modelCallId"))


def summary(bubble: Object) -> Object | None:
    """Return the summary in a bubble, or ``None``."""
    raw_summary = bubble.get(_SUMMARY)
    value = jsonio.value(raw_summary) if isinstance(raw_summary, str) else raw_summary
    return value if string(value, "summary") else None


def subagent_call(bubble: Object) -> tuple[str, str] | None:
    """Return the ids of the sub-agent that a call started and of the call, or ``None``."""
    agent = string(at(bubble, _CALL, "additionalData"), "subagentComposerId")
    call = string(bubble.get(_CALL), "toolCallId")
    return (agent, call) if agent and call else None


class BubbleReader:
    """A converter from bubbles to turns; the model of a reply is logged in its bubbles, or else in the prompt."""

    def __init__(self, line: int, model: str, unread: Unread) -> None:
        self._line, self._model, self._unread = line, model, unread

    def turns(self, group: list[Bubble]) -> Iterator[LoggedTurn]:
        """Yield the turn of a prompt, or the turns of a reply with its results."""
        for bubble in group:
            self._rest(bubble)
        first, role = group[0], group[0].value.get("type")
        own = next((name for each in group if (name := _model(each.value))), "")
        if role == _MODEL:
            yield from self._reply(group, own or self._model)
        elif role == _USER:
            self._model = own or self._model
            if text := string(first.value, "text"):
                turn = {"role": "user", "content": text}
                yield LoggedTurn(first.place, turn, Evidence(self._line, moment(first.value.get("createdAt"))))
            else:
                self._unread.count("bubble without text")
        else:
            raise TurnError(f"{first.place}: type is {compact(role)[:20]}, expected 1 or 2")

    def _rest(self, bubble: Bubble) -> None:
        self._unread.count_members("bubble", bubble.value, *_BUBBLE)
        call = bubble.value.get(_CALL)
        if bubble.call is None and isinstance(call, dict):
            self._unread.count(f"bubble.{_CALL} without a name")
        elif bubble.call:
            self._unread.count_members(f"bubble.{_CALL}", call, *_CALL_MEMBERS)

    def _reply(self, group: list[Bubble], model: str) -> Iterator[LoggedTurn]:
        """Yield the turns of a reply and of the results of its calls."""
        text_parts = [{"type": "text", "text": text} for each in group if (text := string(each.value, "text"))]
        thoughts = [thought_block for each in group for thought_block in _thoughts(each.value, model)]
        bubbles_with_calls = [(each, call) for each in group if (call := each.call)]
        calls = [function_call(call.get("toolCallId"), call["name"], arguments(call)) for _, call in bubbles_with_calls]
        if not (text_parts or thoughts or calls):
            return
        yield LoggedTurn(group[0].place, reply(text_parts, thoughts, calls), self._evidence(group, model))
        for bubble, call in bubbles_with_calls:
            if (answer := _answer(call)) is not None:
                yield LoggedTurn(bubble.place, answer, Evidence(self._line))

    def _evidence(self, group: list[Bubble], model: str) -> Evidence:
        times = [when for each in group if (when := moment(each.value.get("createdAt")))]
        token_counts = [tokens for each in group if any(tokens := _tokens(each.value))]
        prompt_tokens, completion_tokens = token_counts[-1] if token_counts else (None, None)
        return Evidence(self._line, times[0] if times else None, True, model or None, prompt_tokens, completion_tokens)


def _model(bubble: Object) -> str:
    """Return the model name in a bubble, or an empty string if Cursor selected the model."""
    name = string(bubble.get("modelInfo"), "modelName")
    return "" if name == _UNKNOWN else name


def _tokens(bubble: Object) -> tuple[int | None, int | None]:
    """Return the token counts of a request and its reply, except zeros, which newer versions write for all replies."""
    prompt_tokens, completion_tokens = (
        count(at(bubble, "tokenCount", name)) for name in ("inputTokens", "outputTokens")
    )
    return prompt_tokens or None, completion_tokens or None


def _thoughts(bubble: Object, model: str) -> list[Json]:
    thinking = bubble.get("thinking")
    text, signature = (
        (thinking, "") if isinstance(thinking, str) else (string(thinking, "text"), string(thinking, "signature"))
    )
    blocks = [thought(text, signature, "", model)] if text or signature else []
    hidden = string(thinking, "redactedThinking")
    return [*blocks, thought("", "", hidden, model)] if hidden else blocks


def arguments(call: Object) -> Json:
    """Return the arguments as written by the model, or else as parsed by the client."""
    raw = _decode_string(call.get("rawArgs"))
    if isinstance(raw, dict) or (isinstance(raw, str) and isinstance(jsonio.value(raw), dict)):
        return raw
    params = _decode_string(call.get("params"))
    value = jsonio.value(params) if isinstance(params, str) else params
    # MCP calls contain their parameters in a list of tools.
    inner = objects(at(value, "tools"))
    if len(inner) == 1 and "parameters" in inner[0]:
        return _decode_string(inner[0]["parameters"])
    return params if isinstance(params, dict) or isinstance(value, dict) else raw or params


def _decode_string(value: Json) -> Json:
    """Decode a JSON string; other values are returned unchanged."""
    inner = jsonio.value(value) if isinstance(value, str) and value[:1] == '"' else None
    return inner if isinstance(inner, str) else value


def _answer(call: Object) -> Object | None:
    """Return the result of a call, or ``None`` if it is not finished."""
    content, status = _decode_string(call.get("result")), call.get("status")
    status = at(status, "status") if isinstance(status, dict) else status
    outcome = _OUTCOMES.get(status, "") if isinstance(status, str) else ""
    if call.get("userDecision") == _DENIED:
        outcome = "denied"
    if content in (None, ""):
        content = _decode_string(call.get("error"))
    if content in (None, "") and status != "completed":
        return None
    return tool_message(call.get("toolCallId"), "" if content is None else content, outcome, call["name"])
