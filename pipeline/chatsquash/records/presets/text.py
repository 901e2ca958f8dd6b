"""For verl, torchtune, NeMo Automodel, Unsloth Studio and base models: only roles and texts.

Tools, calls and results are written as the templates of Qwen 2.5 and Qwen 3 write them, so that these give the same
text as for the structured form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation
from chatsquash.records import markup, schema
from chatsquash.records.arguments import objects_or_texts
from chatsquash.records.line import StoredRecord
from chatsquash.records.presets import REFUSED, Choices, Column, ShapeResult
from chatsquash.records.shaping import Plain, behind_results, merge_turns, shape_record
from chatsquash.records.turns import Turn

NAME = "text"
TRAINERS: dict[str, tuple[str, ...]] = {"verl": (), "torchtune": (), "NeMo Automodel": (), "Unsloth Studio": ()}
SCHEMA: dict[str, Any] = schema.record(
    {"messages": schema.messages(*(schema.said(role, schema.FLAGS) for role in ("system", "user", "assistant")))}
)
COLUMNS = (Column("messages", "messages", ("role", "content")),)
_TOOLS = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
_BETWEEN = "\n\n"
"""What ``--merge-consecutive`` puts between results and what the user says behind them."""
_TOOLS_OPEN, _TOOLS_CLOSE = "<tools>\n", "\n</tools>"


def shape(conversation: Conversation, choices: Choices = REFUSED) -> ShapeResult:
    """Turns with their calls in the text, results as the user's, and the tools in the system's text."""
    return shape_record(conversation, objects_or_texts, _record, choices, as_text=True)


def _record(plain: Plain) -> dict[str, Any]:
    turns = [*_system(plain), *_turns(plain.turns)]
    if plain.choices.merges:  # results are the user's by now, and calls are text
        turns = merge_turns(turns, plain.notes, "user", "assistant")
    else:
        plain.notes.behind = behind_results(plain.turns)
    return {"messages": [{"role": turn["role"], "content": turn["content"]} for turn in turns]}


def _system(plain: Plain) -> list[Turn]:
    first = plain.turns[0]
    said = [first["content"]] if first["role"] == "system" else []
    tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in plain.tools)
    said += [_TOOLS.format(tools)] if tools else []
    return [{"role": "system", "content": "\n\n".join(said)}] if said else []


def _turns(turns: list[Turn]) -> Iterator[Turn]:
    """All turns but the system's; results that follow each other are one."""
    results: list[str] = []
    for turn in turns:
        if turn["role"] == "tool":
            results.append(f"{markup.RESULT_OPEN}{turn['content']}{markup.RESULT_CLOSE}")
            continue
        if results:
            yield {"role": "user", "content": "\n".join(results)}
            results = []
        if turn["role"] == "assistant":
            yield {"role": "assistant", "content": _said(turn)}
        elif turn["role"] == "user":
            yield turn


def _said(turn: Turn) -> str:
    text = markup.text(turn)
    calls = [f"{chat.CALL_OPEN}\n{markup.call(call)}\n{chat.CALL_CLOSE}" for call in turn.get("tool_calls", ())]
    return "\n".join([text, *calls] if turn["content"] or not calls else [text + calls[0], *calls[1:]])


# Reading


def native(messages: list[Any]) -> StoredRecord | None:
    """The conversation that texts hold; ``None`` where nothing says that they are a record's of this preset."""
    if not all(map(_is_plain, messages)):
        return None
    first = messages[0] if messages and messages[0]["role"] == "system" else None
    tools = _definitions(first["content"]) if first else None
    heard = [(each, at) for at, message in enumerate(messages) for each in _split_calls(message)]
    if tools is None and not any(message["role"] == "tool" for message, _ in heard):
        return None
    return markup.native([message for message, _ in heard], [at for _, at in heard], tools)


def _is_plain(message: dict[str, Any]) -> bool:
    texts = message.keys() - schema.FLAGS == {"role", "content"} and isinstance(message["content"], str)
    return texts and message["role"] in ("system", "user", "assistant")


def _split_calls(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message; where the user's text is results, or begins with them, these with the role of a tool."""
    text: str = message["content"]
    if message["role"] != "user" or not text.startswith(markup.RESULT_OPEN):
        yield message
        return
    results, closed, behind = text.rpartition(markup.RESULT_CLOSE)
    if not closed or (behind and not behind.startswith(_BETWEEN)):
        yield message
        return
    yield {"role": "tool", "content": results[len(markup.RESULT_OPEN) :]}
    if behind:
        yield {**message, "content": behind.removeprefix(_BETWEEN)}


def _definitions(text: str) -> list[Any] | None:
    listed, closed, _ = text.partition(_TOOLS_OPEN)[2].partition(_TOOLS_CLOSE)
    tools = [jsonio.value(line) for line in listed.split("\n")] if closed else None
    return tools if tools and all(isinstance(tool, dict) for tool in tools) else None
