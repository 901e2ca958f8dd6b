"""Convert a sample: its final messages, and replies that occur only in model events."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.jsonio import Rounded
from chatsquash.core.model import Conversation, ConversationKind, Json, Tool
from chatsquash.core.scores import read_scores
from chatsquash.formats.base import TurnError, expect_list, expect_object
from chatsquash.formats.calls import spell_call
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation, moment
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import EntryBudget, text
from chatsquash.formats.values import Object, as_list, at, compact, count, members, objects, string, total

_SAMPLE = ("id", "epoch", "messages", "output", "scores", "events", "attachments", "events_data", "model_usage")
_MESSAGE = ("id", "role", "content", "source", "tool_calls", "tool_call_id", "function", "error", "model")
_ATTACHMENT = "attachment://"
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""The numbers for Inspect's letter grades."""
_DEEPEST = 50


class _SampleFacts(NamedTuple):
    """The data for the replies of a sample: its model, the events by reply id, and attachments."""

    model: str | None
    outputs: dict[str, Object]
    attachments: Object
    """The text and media that are stored separately, by name."""


def conversations_of(sample: Json, where: str, line: int, model: str | None, unread: Unread) -> list[Conversation]:
    """Return the conversations of a sample."""
    expect_object(sample, f"{where} is")
    unread.count_members("sample", sample, *_SAMPLE)
    events = [each for each in objects(sample.get("events")) if each.get("event") == "model"]
    outputs = {name: each for each in events if (name := _answer_id(each))}
    known = _SampleFacts(model, outputs, members(sample.get("attachments")))
    messages = expect_list(sample.get("messages"), f"{where}: messages is")
    session: Object = {"session_id": _name(sample), **_reward(sample.get("scores"))}
    values = ((name, at(score, "value")) for name, score in members(sample.get("scores")).items())
    session["scores"] = read_scores(values, "Inspect", is_shared=True)
    main = _turns(messages, where, line, known, unread)
    final_ids = {_id(each) for each in objects(messages)}
    own = [each for each in events if _answer_id(each) in final_ids] or events
    tools = _tools(own[-1].get("tools")) if own else []
    others = _others(events, sample, final_ids, unread)
    converted = list[Conversation]()
    several = bool(others)
    if main:
        converted.append(load_conversation(openai_chat, main, tools, id="1" if several else "", **session))
    for number, (kind, words, event) in enumerate(others, 2):
        turns = _turns(words, f"{where}, event {number}", line, known, Unread())
        links: Object = {"id": str(number), "kind": kind, "parent": "1"}
        converted.append(load_conversation(openai_chat, turns, _tools(event.get("tools")), **session, **links))
    return [each for each in converted if each.messages]


def _name(sample: Object) -> str | None:
    identity, epoch = sample.get("id"), sample.get("epoch")
    if not isinstance(identity, str | int):
        return None
    return f"{identity}_{epoch}" if type(epoch) is int and epoch != 1 else str(identity)


def _id(message: Object) -> str | None:
    return text(message.get("id"))


def _answer_id(event: Object) -> str | None:
    choice = next(iter(objects(at(event, "output", "choices"))), {})
    return text(at(choice, "message", "id"))


def _others(
    events: list[Object], sample: Object, final_ids: set[str | None], unread: Unread
) -> list[tuple[ConversationKind, list[Json], Object]]:
    """Return the conversations of replies that are missing from the final messages."""
    pool = as_list(at(sample, "events_data", "messages"))
    budget = EntryBudget(len(pool) + sum(len(as_list(each.get("input"))) + 1 for each in events))
    others, continued_ids = list[tuple[ConversationKind, list[Json], Object]](), set[str | None]()
    # Later events have longer inputs, which include the replies of earlier events.
    for event in reversed(events):
        own, spans = _answer_id(event), _spans(event, len(pool))
        is_new = own is not None and own not in final_ids and own not in continued_ids
        if not budget.take(sum(map(len, spans))):
            unread.count("event over the limit")
            continue
        messages = [pool[place] for span in spans for place in span] or as_list(event.get("input"))
        continued_ids |= {own, *map(_id, objects(messages))}
        if is_new:
            answer = at(next(iter(objects(at(event, "output", "choices"))), {}), "message")
            first = [_id(each) for each in objects(messages)[:2]]
            # A branch starts with messages of the final conversation; sub-agents have other messages.
            kind: ConversationKind = "branch" if any(each in final_ids for each in first if each) else "subagent"
            others.append((kind, [*messages, answer], event))
    return others[::-1]


def _spans(event: Object, most: int) -> list[range]:
    """Return the ranges of an event's input in the shared messages; empty if the event contains its input."""
    pairs = [each for each in as_list(event.get("input_refs")) if isinstance(each, list) and len(each) == 2]
    spans = [each for each in pairs if all(type(place) is int and place >= 0 for place in each)]
    return [range(min(start, most), min(stop, most)) for start, stop in spans]


def _turns(messages: list[Json], where: str, line: int, known: _SampleFacts, unread: Unread) -> list[LoggedTurn]:
    turns = list[LoggedTurn]()
    for number, message in enumerate(messages):
        place = f"{where}, messages[{number}]"
        expect_object(message, f"{place} is")
        unread.count_members("message", message, *_MESSAGE)
        turn = _turn(_with_attachments(message, known.attachments, 0), unread)
        turns.append(LoggedTurn(place, turn, _evidence(message, line, known)))
    return turns


def _evidence(message: Object, line: int, known: _SampleFacts) -> Evidence:
    if message.get("role") != "assistant" or message.get("source") in ("input", "operator"):
        return Evidence(line)
    event = known.outputs.get(_id(message) or "", {})
    usage = at(event, "output", "usage")
    choice = next(iter(objects(at(event, "output", "choices"))), {})
    return Evidence(
        line=line,
        time=moment(event.get("timestamp")),
        is_sampled=True,
        model=text(message.get("model")) or text(at(event, "output", "model")) or known.model,
        prompt_tokens=total(usage, "input_tokens", "input_tokens_cache_read", "input_tokens_cache_write"),
        completion_tokens=count(at(usage, "output_tokens")),
        finish_reason=text(choice.get("stop_reason")),
    )


def _with_attachments(value: Json, attachments: Object, depth: int) -> Json:
    """Replace the names of attachments in a value with their content."""
    if isinstance(value, str):
        value_of = attachments.get(value[len(_ATTACHMENT) :]) if value.startswith(_ATTACHMENT) else None
        return value_of if isinstance(value_of, str) else value
    # Recursion would fail on deeply nested values.
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_with_attachments(each, attachments, depth + 1) for each in value]
    if isinstance(value, dict):
        return {name: _with_attachments(each, attachments, depth + 1) for name, each in value.items()}
    return value


def _turn(message: Object, unread: Unread) -> Object:
    role = message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        raise TurnError(f"unknown message role {compact(role)[:40]}")
    content, thoughts = _content(message.get("content"), unread)
    turn: Object = {"role": role, "content": content}
    if role == "assistant":
        names = ("id", "function", "arguments")
        calls = [spell_call(*map(call.get, names)) for call in objects(message.get("tool_calls"))]
        turn |= {"tool_calls": calls, "content": content or None} if calls else {}
        turn |= {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
    if role == "tool":
        turn |= {"tool_call_id": message.get("tool_call_id")}
        turn |= {"name": message["function"]} if text(message.get("function")) else {}
        if isinstance(message.get("error"), dict):
            turn["content"] = content or string(message["error"], "message")
            turn[PRIVATE] = Private({"outcome": "failed"})
    return turn


def _content(content: Json, unread: Unread) -> tuple[Json, list[str]]:
    """Split content into parts and reasoning."""
    if not isinstance(content, list):
        return content, []
    parts, thoughts = list[Json](), list[str]()
    for part in objects(content):
        match part:
            case {"type": "reasoning"}:
                words = string(part, "summary") if part.get("redacted") is True else string(part, "reasoning")
                thoughts += [words] if words else []
                if not words:
                    unread.count("withheld reasoning")
            case {"type": "image", "image": str(url)}:
                parts.append({"type": "image_url", "image_url": {"url": url}})
            case {"type": "text", "text": str(words)}:
                parts.append({"type": "text", "text": words})
            case _:
                unread.count(f"content {string(part, 'type')}")
    return parts, thoughts


def _tools(definitions: Json) -> list[Tool]:
    names = ("name", "description", "parameters")
    functions = [{name: each[name] for name in names if name in each} for each in objects(definitions)]
    return list(openai_chat.tools([{"type": "function", "function": each} for each in functions]).functions)


def _reward(scores: Json) -> Object:
    """Return the first score that is a number or a letter grade."""
    for name, score in members(scores).items():
        value = at(score, "value")
        if isinstance(value, str) and value in _GRADES:
            return {"reward": _GRADES[value], "reward_evidence": f"{name[:100]}, {value}, of the scores"}
        # A larger integer would not fit into a float.
        if type(value) in (int, float, Rounded) and abs(value) < 1e300:
            return {"reward": float(value), "reward_evidence": f"{name[:100]} of the scores"}
    return {}
