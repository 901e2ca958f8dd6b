"""Rollouts of verifiers: version 1 traces, which are trees of nodes, and version 0 results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.jsonio import Rounded
from chatsquash.core.jsonio import value as parsed
from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.core.scores import Score, read_scores
from chatsquash.core.token_ids import ID_SIZE, NUMBER_SIZE, TokenIds, pack_ids, pack_numbers
from chatsquash.formats.base import TurnError, expect_list, expect_object
from chatsquash.formats.evidence import (
    Evidence,
    LoggedTurn,
    Unread,
    entries,
    load_conversation,
    moment,
)
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import ROOT, ThreadEntry, link_entries, load_paths, paths, text, with_unread
from chatsquash.formats.values import Object, as_list, at, count, kind, members, objects, string

NAME = "verifiers"
HAS_TOOLS = True
MEMBERS = ("traces", "nodes", "completion")

_MOST = 1e300
_TRACE = ("version", "id", "verifiers", "task", "agent", "tools", "nodes", "calls", "rewards")
_RESULT = (
    *("example_id", "prompt", "completion", "answer", "info", "reward", "error", "is_completed", "is_truncated"),
    *("stop_condition", "metrics", "tool_defs", "token_usage"),
)


def fits(documents: list[Json]) -> str | None:
    """Check for episodes with traces of nodes, or for results with an example id, a prompt and a completion."""
    values = objects(documents)
    if not values or len(values) != len(documents):
        return None
    if all(isinstance(_traces(each), list) for each in values):
        return (
            "traces[].nodes" if any("nodes" in trace for each in values for trace in objects(_traces(each))) else None
        )
    known = all({"example_id", "prompt", "completion"} <= each.keys() for each in values)
    return "example_id next to prompt and completion" if known else None


def _traces(value: Object) -> Json:
    return [value] if "nodes" in value and "verifiers" in value else value.get("traces")


def conversations(
    values: list[Json], lines: list[int] | None = None, *, with_token_ids: bool = False
) -> list[Conversation]:
    """Return the path to the last node of each trace, then the paths to other leaves; and a conversation per result."""
    converted, unread = list[Conversation](), Unread()
    for place, line, value in entries(values, lines):
        traces = _traces(value)
        if isinstance(traces, list):
            unread.count_members("episode", value if "traces" in value else None, "traces")
            for number, trace in enumerate(traces):
                converted += _trace(
                    trace, f"entry {place}, traces[{number}]", line, unread, with_token_ids=with_token_ids
                )
        else:
            converted += _result(value, f"entry {place}", line, unread)
    return with_unread(converted, unread)


# Version 1


def _trace(trace: Json, where: str, line: int, unread: Unread, *, with_token_ids: bool) -> list[Conversation]:
    nodes = at(trace, "nodes")
    if not isinstance(trace, dict) or not isinstance(nodes, list):
        raise TurnError(f"{where}: nodes is {kind(nodes)}, expected a list")
    unread.count_members("trace", trace, *_TRACE)
    if not nodes:
        return []
    calls = {each["node"]: each for each in objects(trace.get("calls")) if type(each.get("node")) is int}
    steps = [_step(node, f"{where}, nodes[{at}]", line, calls.get(at, {})) for at, node in enumerate(nodes)]
    parents = [at(node, "parent") for node in nodes]
    before = link_entries([str(number) for number in range(len(nodes))], [_name(parent) for parent in parents])
    if with_token_ids:
        steps = _with_token_ids(steps, nodes, before)
    selected_paths = paths(before, len(nodes) - 1, [each.is_sampled for each in steps], unread)
    session: Object = {"session_id": text(trace.get("id")), **_reward(trace.get("rewards"))}
    session["scores"] = _scores("rewards", trace.get("rewards"))
    return load_paths(openai_chat, steps, selected_paths, session, _tools(trace.get("tools")))


def _name(parent: Json) -> str | None:
    return str(parent) if type(parent) is int else None


def _step(node: Json, where: str, line: int, call: Object) -> ThreadEntry:
    if not isinstance(node, dict) or not isinstance(node.get("message"), dict):
        raise TurnError(f"{where} has no message")
    is_sampled = node.get("sampled") is True
    evidence = Evidence(line, moment(node.get("timestamp")))
    if is_sampled:
        usage = call.get("usage")
        evidence = replace(
            evidence,
            is_sampled=True,
            model=text(call.get("model")),
            prompt_tokens=count(at(usage, "prompt_tokens")),
            completion_tokens=count(at(usage, "completion_tokens")),
            finish_reason=text(call.get("finish_reason")),
        )
    return ThreadEntry((LoggedTurn(where, _turn(node["message"]), evidence),), is_sampled)


class _NodeIds(NamedTuple):
    """The token ids of a node: those that it adds to the nodes before it."""

    before: _NodeIds | None
    """The node before it, back to the last sampled one."""
    ids: bytes
    token_ids: TokenIds | None = None
    """The ids of a sampled node, which end with its own."""
    is_complete: bool = True
    """Whether the ids of all nodes before it are known."""


def _with_token_ids(steps: list[ThreadEntry], nodes: list[Json], before: Sequence[int]) -> list[ThreadEntry]:
    """Add the token ids of sampled nodes; each node has only the ids that it adds to those before it."""
    known: dict[int, _NodeIds] = {ROOT: _NodeIds(None, b"")}
    result = list[ThreadEntry]()
    for place, (step, node) in enumerate(zip(steps, nodes, strict=True)):
        earlier, ids = known.get(before[place]), pack_ids(node.get("token_ids"))
        is_complete = earlier is not None and earlier.is_complete and bool(ids)
        own = _node_ids(node, earlier, ids) if earlier and is_complete and step.is_sampled else None
        known[place] = _NodeIds(earlier, ids, own, is_complete and (own is not None or not step.is_sampled))
        turns = (replace(turn, evidence=replace(turn.evidence, token_ids=own)) for turn in step.turns)
        result.append(replace(step, turns=tuple(turns)) if own else step)
    return result


def _node_ids(node: Object, earlier: _NodeIds, ids: bytes) -> TokenIds | None:
    """Return the token ids of a sampled node: those under its mask were sampled, the others belong to its prompt."""
    mask = node.get("mask")
    if not isinstance(mask, list) or len(mask) * ID_SIZE != len(ids):
        return None
    start = next((at for at, is_sampled in enumerate(mask) if is_sampled is True), len(mask))
    if start == len(mask) or not all(each is True for each in mask[start:]):
        return None
    pieces = [ids[: start * ID_SIZE]]
    each: _NodeIds | None = earlier
    while each is not None and each.token_ids is None:
        pieces.append(each.ids)
        each = each.before
    numbers = pack_numbers(node.get("logprobs"))
    fits = numbers is not None and len(numbers) // NUMBER_SIZE == len(mask) - start
    prompt, completion = b"".join(reversed(pieces)), ids[start * ID_SIZE :]
    return TokenIds(prompt, completion, numbers if fits else None, each.token_ids if each else None)


def _turn(message: Object) -> Object:
    """Convert a message, whose calls are flat objects or JSON strings."""
    calls = [parsed(call) if isinstance(call, str) else call for call in as_list(message.get("tool_calls"))]
    if not calls:
        return {name: value for name, value in message.items() if name != "tool_calls"}
    return {**message, "tool_calls": list(map(_call, calls))}


def _call(call: Json) -> Json:
    if isinstance(call, dict) and "function" not in call and "name" in call:
        function = {"name": call["name"], "arguments": call.get("arguments")}
        return {"id": call.get("id"), "type": "function", "function": function}
    return call


def _tools(definitions: Json) -> list[Tool]:
    definitions = parsed(definitions) if isinstance(definitions, str) else definitions
    functions = [
        each if "function" in each else {"type": "function", "function": each} for each in objects(definitions)
    ]
    return list(openai_chat.tools(functions).functions)


def _reward(rewards: Json) -> Object:
    """Return the weighted sum of the rewards."""
    if not isinstance(rewards, dict):
        return {}
    with_scores = [each for each in objects(list(rewards.values())) if _is_number(each.get("score"))]
    weighted_sum = sum(_number(each, "score", 0.0) * _number(each, "weight", 1.0) for each in with_scores)
    if not with_scores or abs(weighted_sum) > _MOST:
        return {}
    return {"reward": weighted_sum, "reward_evidence": "the weighted sum of rewards"}


def _scores(name: str, values: Json) -> tuple[Score, ...]:
    """Return rewards or metrics by name, which are numbers or objects with one."""
    pairs = ((key, at(each, "score") if isinstance(each, dict) else each) for key, each in members(values).items())
    return read_scores(pairs, f"verifiers {name}", is_shared=True)


def _number(holder: Object, name: str, otherwise: float) -> float:
    value: Json = holder.get(name)
    return float(value) if _is_number(value) else otherwise


def _is_number(value: Json) -> bool:
    return type(value) in (int, float, Rounded) and abs(value) < _MOST


# Version 0


def _result(value: Object, where: str, line: int, unread: Unread) -> list[Conversation]:
    unread.count_members("result", value, *_RESULT)
    turns = list[LoggedTurn]()
    for name, usual in (("prompt", "user"), ("completion", "assistant")):
        prompt_or_completion = value.get(name)
        messages = (
            [{"role": usual, "content": prompt_or_completion}]
            if isinstance(prompt_or_completion, str)
            else prompt_or_completion
        )
        for number, message in enumerate(expect_list(messages, f"{where}: {name} is")):
            place = f"{where}, {name}[{number}]"
            turn = _turn(expect_object(message, f"{place} is"))
            # Prompts and completions that are plain text may be messages with this role.
            turn = {**turn, "role": usual} if turn.get("role") == "text" else turn
            # Assistant messages in the prompt are context.
            is_sampled = name == "completion" and string(turn, "role") == "assistant"
            turns.append(LoggedTurn(place, turn, Evidence(line, is_sampled=is_sampled)))
    if not turns:
        return []
    reward: Json = value.get("reward")
    known: Object = {"reward": float(reward), "reward_evidence": "reward of the result"} if _is_number(reward) else {}
    known["scores"] = _scores("metrics", value.get("metrics"))
    return [load_conversation(openai_chat, turns, _tools(value.get("tool_defs")), **known)]
