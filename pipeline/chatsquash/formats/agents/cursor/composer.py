"""A composer of the IDE: bubbles in the order of its headers, and summaries that replaced what stood before them."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.cursor.bubbles import Bubble, Reader, spawned, summary
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, Logged, Unread, bounds, of, with_origin
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import Step
from chatsquash.formats.threads import conversations as along
from chatsquash.formats.values import Object, at, kind, listed, members, objects, string

_HEADERS, _INLINE, _MAP = "fullConversationHeadersOnly", "conversation", "conversationMap"
_LATEST = "latestConversationSummary"
_READ = (
    *("composerId", "createdAt", "lastUpdatedAt", "modelConfig", "subagentInfo", "bubbles", "header"),
    *(_HEADERS, _INLINE, _MAP, _LATEST),
)
_TASK = "task-"
"""What the id of a sub-agent begins with that is named after the call that began it."""
_UNKNOWN = "default"
"""What stands for the model where Cursor chooses it."""


def is_one(value: Json) -> bool:
    """Whether an object is what the IDE keeps of a session."""
    if not isinstance(value, dict) or not isinstance(value.get("composerId"), str):
        return False
    return isinstance(value.get(_HEADERS), list) or isinstance(value.get(_INLINE), list)


def conversations(place: str, line: int, value: Object, unread: Unread) -> list[Conversation]:
    """What the model saw at the end, then what each summary replaced.

    What no header names was taken back; in which order is not known any more.
    """
    unread.rest("composer", value, *_READ)
    bubbles = _bubbles(place, value, unread)
    if not bubbles:
        return []
    model = string(value.get("modelConfig"), "modelName")
    reader = Reader(line, "" if model == _UNKNOWN else model, unread)
    groups = list(_groups(bubbles))
    steps = [
        Step(turns := tuple(reader.turns(group)), any(each.evidence.is_sampled for each in turns)) for group in groups
    ]
    steps, way = _with_summaries(steps, groups, value, line)
    known = {"session_id": string(value, "composerId")} | bounds(value.get("createdAt"), value.get("lastUpdatedAt"))
    found = along(openai_chat, steps, [way], known)
    return [_linked(each, value, bubbles, unread) for each in found]


# The bubbles


def _bubbles(place: str, value: Object, unread: Unread) -> list[Bubble]:
    """The bubbles in their order."""
    inline = [each for each in objects(value.get(_INLINE)) if string(each, "bubbleId")]
    held = {**{each["bubbleId"]: each for each in inline}, **members(value.get(_MAP)), **members(value.get("bubbles"))}
    order = listed(value.get(_HEADERS)) or inline
    found, met = list[Bubble](), set[str]()
    for header in order:
        name = string(header, "bubbleId")
        if name in met:
            continue
        met.add(name)
        bubble = held.get(name)
        where = f"{place}, bubble {name[:80]}"
        if bubble is None:
            unread.one("bubble that is not there")
        elif not isinstance(bubble, dict):
            raise TurnError(f"{where} is {kind(bubble)}, not an object")
        else:
            found.append(Bubble(where, name, bubble))
    for _ in range(sum(name not in met for name in held)):
        unread.one("bubble that was taken back")
    return found


def _groups(bubbles: list[Bubble]) -> list[list[Bubble]]:
    """The bubbles of each prompt and of each reply; calls of one reply name the same call of the model."""
    found: list[list[Bubble]] = []
    for bubble in bubbles:
        before = found[-1][-1] if found else None
        if before is None or not before.goes_on_with(bubble):
            found.append([])
        found[-1].append(bubble)
    return found


# Summaries


def _with_summaries(
    steps: list[Step], groups: list[list[Bubble]], value: Object, line: int
) -> tuple[list[Step], list[int]]:
    """The steps with a summary where it came to stand, and the way through all of them in order."""
    places = {bubble.name: place for place, group in enumerate(groups) for bubble in group}
    latest = at(value, _LATEST, "summary")
    told = [
        (place, found) for place, group in enumerate(groups) for bubble in group if (found := summary(bubble.value))
    ]
    if (
        isinstance(latest, dict)
        and string(latest, "summary")
        and string(latest, "summary") not in [each["summary"] for _, each in told]
    ):
        last = string(value.get(_LATEST), "lastBubbleId") or string(latest, "truncationLastBubbleIdInclusive")
        told.append((places.get(last, -1), latest)) if last in places else None
    added = sorted(((place, number) for number, (place, _) in enumerate(told)))
    way, at_step = list[int](), 0
    made = list(steps)
    for place, number in added:
        way += range(at_step, place + 1)
        at_step = max(at_step, place + 1)
        way.append(len(made))
        made.append(_summary(told[number][1], places, line))
    return made, [*way, *range(at_step, len(steps))]


def _summary(told: Object, places: dict[str, int], line: int) -> Step:
    """What stands for the bubbles up to one, in the user's name, with the first one that stays."""
    kept = places.get(string(told, "clientShouldStartSendingFromInclusiveBubbleId"))
    if kept is None and (last := places.get(string(told, "truncationLastBubbleIdInclusive"))) is not None:
        kept = last + 1
    turn = {"role": "user", "content": told["summary"]}
    return Step((Logged("a summary", turn, Evidence(line)),), is_summary=True, kept=kept)


# What is said of the whole


def _linked(found: Conversation, value: Object, bubbles: list[Bubble], unread: Unread) -> Conversation:
    """A conversation with the sub-agents that its calls began, and with the call that began it."""
    began = dict(pair for bubble in bubbles if (pair := spawned(bubble.value)))
    name, header = string(value, "composerId"), value.get("header")
    unread.rest("header", header, "isSubagent", "subagentInfo", "composerId", "createdAt", "lastUpdatedAt")
    told = next((info for each in (value, header) if isinstance(info := at(each, "subagentInfo"), dict)), {})
    is_inner = bool(told) or name.startswith(_TASK) or at(header, "isSubagent") is True
    if is_inner and of(found).kind == "main":
        call = string(told, "toolCallId") or (name.removeprefix(_TASK) if name.startswith(_TASK) else "")
        found = with_origin(
            found,
            id=of(found).id or name,
            kind="subagent",
            parent=string(told, "parentComposerId") or None,
            call=call or None,
        )
    return with_origin(found, began=began) if began else found
