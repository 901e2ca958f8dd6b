"""A forest as traces of verifiers: for each session and list of tools, a tree of messages whose leaves are samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import groupby
from typing import Any, TypeGuard

from chatsquash.core import jsonio, reasoning
from chatsquash.core.chat import part_text
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.core.version import __version__
from chatsquash.records.forest import RECORD, read_rows

_ROLES = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_Row = dict[str, Any]


def traces(rows: Iterable[tuple[str, bytes]], name: str) -> Iterator[bytes]:
    """Yield the traces of a forest as JSON, in the order of their sessions.

    Args:
        rows: The lines of a file, each with its place for errors.
        name: The name of the file, which is a part of the ids.

    Raises:
        UsageError: A line is damaged or missing, or a sample does not consist of messages.
    """
    for session, group in groupby(read_rows(rows), lambda each: each[1].get("session")):
        yield from map(jsonio.dumps, _ForestSession(name, str(session)).traces(group))


class _ForestSession:
    """The traces of a session."""

    def __init__(self, name: str, session: str) -> None:
        self._name, self._session = name, session
        self._rows: dict[int, _Row] = {}
        self._traces: dict[int | None, _Trace] = {}
        """The traces by the node with their tools."""
        self._trained: set[int] = set()

    def traces(self, rows: Iterable[tuple[str, _Row]]) -> list[_Row]:
        """Return the traces of the rows of the session."""
        for place, row in rows:
            self._rows[row["node"]] = row
            if row.get("sample") is not None:
                try:
                    self._add(row, place)
                except (LookupError, TypeError, ValueError, AttributeError):
                    raise UsageError(f"{place}: rows of the sample are missing or damaged; convert again") from None
        return [each.document for each in self._traces.values()]

    def _add(self, leaf: _Row, place: str) -> None:
        if RECORD in leaf["sample"]:
            raise UsageError(f"{place}: the sample is not a list of messages; convert with --preset hf")
        key = leaf["sample"].get("tools")
        trace = self._traces.get(key)
        if trace is None:
            definitions = [] if key is None else self._rows[key]["tools"]
            own = sha256(jsonio.dumps([self._name, self._session, leaf["node"]])).hexdigest()[:32]
            trace = self._traces[key] = _Trace(own, self._session, definitions)
        trace.add(self._path(leaf, trace), place, self._trained)

    def _path(self, leaf: _Row, trace: _Trace) -> list[_Row]:
        """Return the rows of a sample that a trace does not have yet, from the first one."""
        path, row = list[_Row](), leaf
        while row["node"] not in trace.places:
            path.append(row)
            if (parent := row.get("parent")) is None:
                break
            if parent >= row["node"]:  # a damaged file must not be an endless loop
                raise ValueError(parent)
            row = self._rows[parent]
        return path[::-1]


class _Trace:
    """A trace."""

    def __init__(self, own: str, session: str, definitions: Json) -> None:
        self.places: dict[int, int] = {}
        """The index of each row of the forest."""
        self._with_ids: set[int] = set()
        """The indices of nodes with token ids, and of those that follow them."""
        self._nodes: list[_Row] = []
        self._weights: dict[str, Json] = {}
        self.document: _Row = {
            "version": 1,
            "id": own,
            "verifiers": {"version": f"chatsquash {__version__}"},
            "task": {"type": "Task", "data": {"name": session}},
            "agent": {"config": {}},
            "tools": list(map(_tool, definitions)),
            "nodes": self._nodes,
            "info": {"session": session, "loss": self._weights},
            "is_completed": True,
            "ok": True,
        }

    def add(self, rows: list[_Row], place: str, trained: set[int]) -> None:
        """Add the rows of a path; those in ``trained`` are sampled in another trace, and only context here."""
        for row in rows:
            node, parent = len(self._nodes), row.get("parent")
            before = None if parent is None else self.places[parent]
            is_sampled = bool(row["loss"]) and row["node"] not in trained
            ids = _token_ids(row["message"]) if is_sampled and before not in self._with_ids else {}
            if ids or before in self._with_ids:
                self._with_ids.add(node)
            if is_sampled:
                trained.add(row["node"])
            if is_sampled and row["loss"] != 1:
                self._weights[str(node)] = row["loss"]
            message = _message(row["message"], place)
            self._nodes.append({"parent": before, "message": message, "sampled": is_sampled, "timestamp": 0.0, **ids})
            self.places[row["node"]] = node


def _token_ids(message: _Row) -> _Row:
    """Return the token ids of a reply and its prompt, which ``--keep logprobs`` adds, with the values of the reply."""
    known = message.get("logprobs")
    if not isinstance(known, dict):
        return {}
    prompt, reply = known.get("prompt_token_ids"), known.get("token_ids")
    if not _are_ids(prompt) or not _are_ids(reply):
        return {}
    values = [each.get("logprob") for each in known.get("content") or () if isinstance(each, dict)]
    has_values = len(values) == len(reply) and all(isinstance(each, int | float) for each in values)
    mask = [False] * len(prompt) + [True] * len(reply)
    return {"token_ids": [*prompt, *reply], "mask": mask, "logprobs": values if has_values else []}


def _are_ids(value: Json) -> TypeGuard[list[int]]:
    return isinstance(value, list) and bool(value) and all(type(each) is int for each in value)


def _tool(definition: _Row) -> _Row:
    function = definition.get("function", definition)
    known = {"name": function["name"], "description": function.get("description") or ""}
    strict = {"strict": function["strict"]} if isinstance(function.get("strict"), bool) else {}
    return {**known, "parameters": function.get("parameters") or {}, **strict}


def _message(message: _Row, place: str) -> _Row:
    """Return a message as verifiers has it: calls are flat, and the reasoning is a member."""
    message = dict(message)
    role = _ROLES.get(message.get("role", ""))
    if role is None:
        raise UsageError(f"{place}: verifiers has no message of this kind; convert with --preset hf")
    thoughts = reasoning.pop(message).text.strip() if role == "assistant" else ""
    turn: _Row = {"role": role, "content": _content(message.get("content"), place)}
    if role == "assistant":
        calls = list(map(_call, message.get("tool_calls") or ()))
        content = turn["content"]
        turn["content"] = content if isinstance(content, str) else "".join(map(_text, content))
        turn |= {"reasoning_content": thoughts} if thoughts else {}
        turn |= {"tool_calls": calls} if calls else {}
    elif role == "tool":
        turn |= {"tool_call_id": str(message.get("tool_call_id") or "")}
        turn |= {"name": message["name"]} if isinstance(message.get("name"), str) else {}
    return turn


def _call(call: Json) -> _Row:
    function = call["function"]
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else jsonio.dumps(arguments or {}).decode("utf-8", "surrogatepass")
    return {"id": str(call.get("id") or ""), "name": function["name"], "arguments": text}


def _content(content: Json, place: str) -> Json:
    """Return a text, or a list of texts and images."""
    if not isinstance(content, list):
        return content or ""
    for part in content:
        if part_text(part) is None and not _is_image(part):
            raise UsageError(f"{place}: verifiers has no content of this kind; convert with --media drop")
    return [part if _is_image(part) else {"type": "text", "text": part_text(part)} for part in content]


def _is_image(part: Json) -> bool:
    return isinstance(part, dict) and part.get("type") == "image_url" and isinstance(part.get("image_url"), dict)


def _text(part: Json) -> str:
    return part_text(part) or ""
