"""Files of agents of shapes that are hard for a converter, each with many places to which its session went back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from .shapes import Files, Row, code_row, codex_head, codex_turn, said, thread, time

_SESSION = "5d0c7e52-93b4-4b6e-8f0a-{:012x}".format
_ROLLOUT = "sessions/2026/01/13/rollout-2026-01-13T00-00-00-{}.jsonl".format


# Claude Code


def one_fork(count: int) -> Iterator[Row]:
    """A file of Claude Code whose last reply was followed by many prompts, each in its own branch."""
    for number in range(0, count, 2):
        yield from _turn(number, f"u{number - 1}" if number else None)
    last = f"u{(count - 1) // 2 * 2 + 1}"
    for number in range(count + 2, 2 * count, 2):
        yield from _turn(number, last)


def compactions(count: int) -> Iterator[Row]:
    """A file of Claude Code with a summary after each turn."""
    last = None
    for number in range(0, 2 * count, 4):
        yield from _turn(number, last)
        boundary = {"type": "system", "subtype": "compact_boundary", "logicalParentUuid": f"u{number + 1}"}
        yield {**code_row(number + 2, None, "user", ""), **boundary, "message": None}
        yield {**code_row(number + 3, f"u{number + 2}", "user", said("summary", number)), "isCompactSummary": True}
        last = f"u{number + 3}"


def sidechains(count: int) -> Iterator[Row]:
    """A file of Claude Code whose turns alternate between the main chain and a sub-agent's, each after the other."""
    last = None
    for number in range(0, 2 * count, 2):
        for row in _turn(number, last):
            yield {**row, "isSidechain": number % 4 == 0}
        last = f"u{number + 1}"


def _turn(number: int, parent: str | None) -> Iterator[Row]:
    yield code_row(number, parent, "user", said("question", number))
    yield code_row(number + 1, f"u{number}", "assistant", said("answer", number))


# Other agents


def pi_edits(count: int) -> Iterator[Row]:
    """A file of Pi in which each prompt was edited once."""
    yield {"type": "session", "version": 3, "id": "p1", "timestamp": time(0), "cwd": "/w"}
    for number, parent, role, text in _edits(count):
        message: Row = {"role": role, "content": [{"type": "text", "text": text}]}
        if role == "assistant":
            usage = {"input": 1, "output": 1}
            message |= {"provider": "anthropic", "model": "m", "usage": usage, "stopReason": "stop"}
        place = {"id": f"e{number}", "parentId": parent, "timestamp": time(number)}
        yield {"type": "message", **place, "message": message}


def qwen_edits(count: int) -> Iterator[Row]:
    """A file of Qwen Code in which each prompt was edited once."""
    for number, parent, role, text in _edits(count):
        place = {"uuid": f"e{number}", "parentUuid": parent, "sessionId": "q1", "timestamp": time(number)}
        message = {"role": "user" if role == "user" else "model", "parts": [{"text": text}]}
        yield {**place, "type": role, "cwd": "/w", "version": "0.9.0", "model": "m", "message": message}


def _edits(count: int) -> Iterator[tuple[int, str | None, str, str]]:
    """Each entry's number, the name of the entry before it, its role and its text."""
    last = None
    for number in range(0, 2 * count, 4):
        yield number, last, "user", said("question", number)
        yield number + 1, f"e{number}", "assistant", said("answer", number)
        yield number + 2, last, "user", said("another", number)
        yield number + 3, f"e{number + 2}", "assistant", said("other", number)
        last = f"e{number + 1}"


def gemini_rewinds(count: int) -> Iterator[Row]:
    """A file of Gemini CLI in which each prompt was taken back once."""
    yield {"sessionId": "lamp", "projectHash": "ab12", "startTime": time(0), "lastUpdated": time(1)}
    for number in range(count):
        place = {"timestamp": time(number)}
        yield {"id": f"u{number}", **place, "type": "user", "content": said("question", number)}
        yield {"id": f"a{number}", **place, "type": "gemini", "content": said("answer", number), "model": "m"}
        if number % 2 == 0:
            yield {"$rewindTo": f"u{number}"}


def rollbacks(count: int) -> Iterator[Row]:
    """A rollout of Codex in which each turn was rolled back once."""
    yield codex_head(0)
    for number in range(count):
        yield from codex_turn(number)
        if number % 2 == 0:
            payload = {"type": "thread_rolled_back", "num_turns": 1}
            yield {"timestamp": time(number), "type": "event_msg", "payload": payload}


AGENT_SHAPES: dict[str, Callable[[int], Iterator[Row]]] = {
    make.__name__: make for make in (one_fork, compactions, sidechains, pi_edits, qwen_edits, gemini_rewinds, rollbacks)
}


# Several files


def resumes(count: int) -> Files:
    """Files of Claude Code, each of which begins with the last turns of the one before it."""
    rows: list[Row] = []
    for number in range(0, 2 * count, 2):
        rows = [*rows[-6:], *_turn(number, f"u{number - 1}" if number else None)]
        yield f"p/{_SESSION(number)}.jsonl", iter([{**row, "sessionId": _SESSION(number)} for row in rows])


def agent_files(count: int) -> Files:
    """A session of Claude Code with many sub-agents, each in its own file."""
    yield f"p/{_SESSION(0)}.jsonl", _turn(0, None)
    for number in range(count):
        own = {"sessionId": _SESSION(0), "isSidechain": True, "agentId": f"{number:08x}"}
        path = f"p/{_SESSION(0)}/subagents/agent-{number:08x}.jsonl"
        yield path, iter([{**row, **own} for row in _turn(2 * number + 2, None)])


def nested_threads(count: int) -> Files:
    """Sub-agents of Codex, each of which began the next one."""
    for number in range(count):
        head: dict[str, Any] = codex_head(number)
        if number:
            spawn = {"parent_thread_id": thread(number - 1), "depth": number}
            head["payload"]["source"] = {"subagent": {"thread_spawn": spawn}}
        yield _ROLLOUT(thread(number)), chain([head], codex_turn(number))


AGENT_FILES: dict[str, Callable[[int], Files]] = {
    make.__name__: make for make in (resumes, agent_files, nested_threads)
}
