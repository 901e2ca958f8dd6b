"""SWE-agent's trajectories: the history of each attempt, and the query of each step."""

from __future__ import annotations

from chatsquash.core.jsonio import value as parsed
from chatsquash.core.model import Conversation, ConversationKind, Json
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.values import Object, as_list, at, compact, members, objects, string

NAME = "swe_agent"
HAS_TOOLS = False
MEMBERS = ("trajectory",)
SUFFIXES = (".traj",)

_FILE = ("environment", "trajectory", "history", "info", "replay_config", "attempts")
_MESSAGE = (
    *("role", "content", "message_type", "agent", "is_demo", "thought", "action", "tool_calls", "tool_call_ids"),
    *("thinking_blocks", "tags", "cache_control"),
)


def fits(values: list[Json]) -> str | None:
    """Check for a trajectory with an environment and an outcome."""
    value = members(values[0]) if len(values) == 1 else {}
    fitting = isinstance(value.get("trajectory"), list) and "environment" in value
    return "trajectory next to environment and info" if fitting and isinstance(value.get("info"), dict) else None


def conversations(values: list[Json]) -> list[Conversation]:
    """Return the best attempt, then the others; demonstrations are context.

    Tool definitions are not stored.
    """
    value = values[0] if values else {}
    unread = Unread()
    unread.count_members("trajectory", value, *_FILE)
    unread.count_members("info", at(value, "info"))
    model = _model(at(value, "replay_config"))
    attempts = objects(at(value, "attempts")) or [members(value)]
    best = at(value, "info", "best_attempt_idx")
    order = list(range(len(attempts)))
    if type(best) is int and 0 <= best < len(attempts):
        order = [best, *(place for place in order if place != best)]
    converted = list[Conversation]()
    for number, place in enumerate(order):
        turns = _turns(attempts[place], f"attempts[{place}], " if len(attempts) > 1 else "", model, unread)
        if turns:
            kind: ConversationKind = "branch" if number else "main"
            known: Object = {"id": str(place + 1), "kind": kind, "parent": str(order[0] + 1) if number else None}
            converted.append(load_conversation(openai_chat, turns, **(known if len(attempts) > 1 else {})))
    return with_unread(converted, unread)


def _model(config: Json) -> str | None:
    """Return the model of a run; in some versions, the settings are a JSON string."""
    settings = parsed(config) if isinstance(config, str) else config
    return text(at(settings, "agent", "model", "name"))


def _turns(attempt: Object, where: str, model: str | None, unread: Unread) -> list[LoggedTurn]:
    """Return the history of an attempt, or else the query and the response of the last step."""
    history = attempt.get("history")
    if isinstance(history, list) and history:
        return [_turn(message, f"{where}history[{at}]", model, unread) for at, message in enumerate(history)]
    steps = as_list(attempt.get("trajectory"))
    last = next((step for step in reversed(objects(steps)) if as_list(step.get("query"))), None)
    if last is None:
        return []
    query = as_list(last["query"])
    words = {"role": "assistant", "content": last.get("response")}
    messages = [*query, words] if last.get("response") else query
    return [_turn(message, f"{where}query[{at}]", model, unread) for at, message in enumerate(messages)]


def _turn(message: Json, where: str, model: str | None, unread: Unread) -> LoggedTurn:
    expect_object(message, f"{where} is")
    unread.count_members("message", message, *_MESSAGE)
    role = message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        raise TurnError(f"{where}: unknown role {compact(role)[:40]}")
    turn: Object = {"role": role, "content": message.get("content")}
    if role == "tool":
        ids = as_list(message.get("tool_call_ids"))
        # A result has a list of ids, but answers only one call.
        turn["tool_call_id"] = ids[0] if ids else None
    if role == "assistant":
        if calls := objects(message.get("tool_calls")):
            turn["tool_calls"] = calls
            turn["content"] = turn["content"] or None
        thoughts = [words for each in objects(message.get("thinking_blocks")) if (words := string(each, "thinking"))]
        if thoughts:
            turn["reasoning_content"] = "\n\n".join(thoughts)
    # Demonstrations were not produced by this model.
    is_sampled = role == "assistant" and message.get("is_demo") is not True
    return LoggedTurn(where, turn, Evidence(1, None, is_sampled, model if is_sampled else None))
