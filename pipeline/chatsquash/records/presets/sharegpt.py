"""For LLaMA-Factory: strictly alternating turns, calls as text, and ``dataset_info.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

import orjson

from chatsquash.checks import shapes
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation, Json, Violation
from chatsquash.core.text import json_type
from chatsquash.records import NotARecordError, StoredRecord, markup, schema
from chatsquash.records.arguments import objects_or_texts
from chatsquash.records.notes import CannotHoldError
from chatsquash.records.presets import NO_CHOICES, Choices, Column, ShapeResult
from chatsquash.records.schema import TEXT
from chatsquash.records.shaping import PlainConversation, shape_record
from chatsquash.records.turns import Turn

NAME = "sharegpt"
TRAINERS: dict[str, tuple[str, ...]] = {"LLaMA-Factory": ()}
_USER_SIDE, _ASSISTANT_SIDE = ("human", "observation"), ("gpt", "function_call")
_TURNS = schema.nonempty_list(
    schema.exactly({"from": {"enum": [*_USER_SIDE, *_ASSISTANT_SIDE]}, "value": TEXT}, schema.FLAGS)
)
SCHEMA: dict[str, Any] = schema.record({"conversations": {**_TURNS, "minItems": 2}, "system": TEXT, "tools": TEXT})
COLUMNS = (Column("conversations", "messages", ("from", "value")), Column("system", "text"), Column("tools", "text"))
_ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool", "system": "system"}
_INFO = {
    "formatting": "sharegpt",
    "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
    "tags": {
        "role_tag": "from",
        "content_tag": "value",
        "user_tag": "human",
        "assistant_tag": "gpt",
        "observation_tag": "observation",
        "function_tag": "function_call",
    },
}


def shape(conversation: Conversation, choices: Choices = NO_CHOICES) -> ShapeResult:
    """Return turns with each side's consecutive turns joined, so that both sides alternate, and tools as JSON text."""
    return shape_record(conversation, objects_or_texts, _record, choices, as_text=True, alternates=True)


def extra_files(files: list[str], splits: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    """Return ``dataset_info.json`` with an entry for each split, or for each file if splits consist of several."""
    del files
    # An entry of LLaMA-Factory is a file, or a folder with all its files.
    entries: dict[str, Any] = {}
    for split, parts in splits.items():
        if not parts:
            continue
        if len(parts) > 1 and len(splits) == 1:
            entries[split] = {"file_name": str(PurePosixPath(parts[0]).parent), **_INFO}
        elif len(parts) > 1:
            entries |= {f"{split}_{number}": {"file_name": part, **_INFO} for number, part in enumerate(parts)}
        else:
            entries[split] = {"file_name": parts[0], **_INFO}
    return {"dataset_info.json": orjson.dumps(entries, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)}


def _record(plain: PlainConversation) -> dict[str, Any]:
    system = plain.turns[0]["content"] if plain.turns[0]["role"] == "system" else ""
    turns_after_system = [turn for turn in plain.turns if turn["role"] != "system"]
    runs = [(role, list(run)) for role, run in groupby(turns_after_system, key=lambda turn: turn["role"])]
    turns = [_turn(role, run, plain) for role, run in runs]
    for at, turn in enumerate(turns):
        if turn["from"] not in (_ASSISTANT_SIDE if at % 2 else _USER_SIDE):
            raise CannotHoldError(_order_violation(at, turn))
    tools = json.dumps([tool["function"] for tool in plain.tools], ensure_ascii=False) if plain.tools else ""
    return {"conversations": turns, "system": system, "tools": tools}


def _order_violation(at: int, turn: dict[str, str]) -> Violation:
    if not at:
        return shapes.unsupported_shape(f"the first turn is from {turn['from']}", None)
    hint = "--bridge-results join appends it to the result; "
    return shapes.unsupported_shape("a user message directly follows a result", None, hint)


def _turn(role: str, run: list[Turn], plain: PlainConversation) -> dict[str, str]:
    if role == "tool":
        return {"from": "observation", "value": markup.BETWEEN_RESULTS.join(turn["content"] for turn in run)}
    if len(run) > 1:
        plain.notes.changed[f"consecutive {role} messages merged"] += len(run) - 1
    if role == "user":
        return {"from": "human", "value": _join([turn["content"] for turn in run])}
    calls = [call for turn in run for call in turn.get("tool_calls", ())]
    if calls and plain.choices.drops_text_with_calls and any(turn["content"] for turn in run):
        plain.notes.changed["text next to calls dropped"] += sum(bool(turn["content"]) for turn in run)
        run = [{**turn, "content": ""} for turn in run]
    text = _join([markup.text(turn) for turn in run])
    return {"from": "function_call", "value": _calls(text, calls)} if calls else {"from": "gpt", "value": text}


def _calls(text: str, calls: list[dict[str, Any]]) -> str:
    """Append calls to text on a separate line, as models write them; without text, return only their JSON."""
    if chat.CALL_OPEN in text:
        raise CannotHoldError(
            shapes.unsupported_shape(f"{chat.CALL_OPEN} is in the text of a message with tool_calls", None)
        )
    calls_text = ", ".join(map(markup.call, calls))
    if not text:
        return calls_text if len(calls) == 1 else f"[{calls_text}]"
    break_ = "" if text.endswith(markup.END_OF_REASONING) else "\n"
    return f"{text}{break_}{chat.CALL_OPEN}[{calls_text}]{chat.CALL_CLOSE}"


def _join(texts: list[str]) -> str:
    return "\n\n".join(filter(None, texts))


# Reading


def read(value: dict[str, Any]) -> StoredRecord | None:
    """Return the conversation in a record, or ``None`` for another preset. Raises ``NotARecordError``."""
    if "conversations" not in value:
        return None
    turns, system = value["conversations"], value.get("system")
    if not isinstance(turns, list):
        raise NotARecordError(f"conversations is {json_type(turns)}")
    messages: list[Any] = [{"role": "system", "content": system}] if isinstance(system, str) and system else []
    places = [0] * len(messages)
    for at, turn in enumerate(turns):
        messages.append(_message(turn, at))
        places.append(at)
    return markup.native(messages, places, _definitions(value.get("tools")))


def _definitions(tools: Json) -> Json:
    """Return the definitions, wrapped as LLaMA-Factory wraps them."""
    definitions = (jsonio.value(tools) if tools else None) if isinstance(tools, str) else tools
    return [*map(_wrap, definitions)] if isinstance(definitions, list) else definitions


def _wrap(tool: Json) -> Json:
    is_flat = isinstance(tool, dict) and not isinstance(tool.get("function"), dict)
    return {"type": "function", "function": tool} if is_flat else tool


def _message(turn: Json, at: int) -> dict[str, Any]:
    role = _ROLES.get(turn["from"]) if isinstance(turn, dict) and isinstance(turn.get("from"), str) else None
    if role is None or not isinstance(turn.get("value"), str):
        raise NotARecordError(f"conversations[{at}] is not an object with a from and a value that sharegpt supports")
    text = turn["value"]
    if turn["from"] == "function_call":
        text = _with_call_blocks(text)
    return {"role": role, "content": text}


def _with_call_blocks(value: str) -> str:
    """Return the text of a turn with calls, with a tagged block for each call."""
    text, open_tag, calls = value.partition(chat.CALL_OPEN)
    parsed = jsonio.value(calls.removesuffix(chat.CALL_CLOSE) if open_tag else value)
    blocks = [jsonio.dumps(call).decode() for call in (parsed if isinstance(parsed, list) else [parsed])]
    text = text if text.endswith(markup.END_OF_REASONING) else text.removesuffix("\n")
    return (text if open_tag else "") + "".join(f"{chat.CALL_OPEN}{block}{chat.CALL_CLOSE}" for block in blocks)
