"""For verl, torchtune, NeMo Automodel, Unsloth Studio and base models: only roles and text.

Tools, calls and results are written as the templates of Qwen 2.5 and Qwen 3 write them, so that these give the same
text as for the structured form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation
from chatsquash.records import StoredRecord, markup, schema
from chatsquash.records.arguments import objects_or_texts
from chatsquash.records.presets import NO_CHOICES, Choices, Column, ShapeResult
from chatsquash.records.shaping import PlainConversation, count_users_after_results, merge_turns, shape_record
from chatsquash.records.turns import Turn

NAME = "text"
TRAINERS: dict[str, tuple[str, ...]] = {"verl": (), "torchtune": (), "NeMo Automodel": (), "Unsloth Studio": ()}
SCHEMA: dict[str, Any] = schema.record(
    {"messages": schema.messages(*(schema.message(role, schema.FLAGS) for role in ("system", "user", "assistant")))}
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
_SEPARATOR = "\n\n"
"""The separator that ``--merge-consecutive`` inserts between results and the following user message."""
_TOOLS_OPEN, _TOOLS_CLOSE = "<tools>\n", "\n</tools>"


def shape(conversation: Conversation, choices: Choices = NO_CHOICES) -> ShapeResult:
    """Return turns with calls as text, results as user messages, and tools in the system prompt."""
    return shape_record(conversation, objects_or_texts, _record, choices, as_text=True)


def _record(plain: PlainConversation) -> dict[str, Any]:
    turns = [*_system(plain), *_turns(plain.turns)]
    if plain.choices.merges:  # at this point, results are user messages and calls are text
        turns = merge_turns(turns, plain.notes, "user", "assistant")
    else:
        plain.notes.users_after_results = count_users_after_results(plain.turns)
    return {"messages": [{"role": turn["role"], "content": turn["content"]} for turn in turns]}


def _system(plain: PlainConversation) -> list[Turn]:
    first = plain.turns[0]
    texts = [first["content"]] if first["role"] == "system" else []
    tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in plain.tools)
    texts += [_TOOLS.format(tools)] if tools else []
    return [{"role": "system", "content": "\n\n".join(texts)}] if texts else []


def _turns(turns: list[Turn]) -> Iterator[Turn]:
    """Yield all turns except the system prompt; consecutive results become one user message."""
    results: list[str] = []
    for turn in turns:
        if turn["role"] == "tool":
            results.append(f"{markup.RESULT_OPEN}{turn['content']}{markup.RESULT_CLOSE}")
            continue
        if results:
            yield {"role": "user", "content": "\n".join(results)}
            results = []
        if turn["role"] == "assistant":
            yield {"role": "assistant", "content": _assistant_text(turn)}
        elif turn["role"] == "user":
            yield turn


def _assistant_text(turn: Turn) -> str:
    text = markup.text(turn)
    calls = [f"{chat.CALL_OPEN}\n{markup.call(call)}\n{chat.CALL_CLOSE}" for call in turn.get("tool_calls", ())]
    return "\n".join([text, *calls] if turn["content"] or not calls else [text + calls[0], *calls[1:]])


# Reading


def native(messages: list[Any]) -> StoredRecord | None:
    """Return the conversation in the text of a record, or ``None`` without signs of this preset."""
    if not all(map(_is_plain, messages)):
        return None
    first = messages[0] if messages and messages[0]["role"] == "system" else None
    tools = _definitions(first["content"]) if first else None
    messages_with_places = [(each, at) for at, message in enumerate(messages) for each in _split_results(message)]
    if tools is None and not any(message["role"] == "tool" for message, _ in messages_with_places):
        return None
    return markup.native(
        [message for message, _ in messages_with_places], [at for _, at in messages_with_places], tools
    )


def _is_plain(message: dict[str, Any]) -> bool:
    texts = message.keys() - schema.FLAGS == {"role", "content"} and isinstance(message["content"], str)
    return texts and message["role"] in ("system", "user", "assistant")


def _split_results(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message; results at the beginning of a user message become a separate message with role tool."""
    text: str = message["content"]
    if message["role"] != "user" or not text.startswith(markup.RESULT_OPEN):
        yield message
        return
    results, closed, rest = text.rpartition(markup.RESULT_CLOSE)
    if not closed or (rest and not rest.startswith(_SEPARATOR)):
        yield message
        return
    yield {"role": "tool", "content": results[len(markup.RESULT_OPEN) :]}
    if rest:
        yield {**message, "content": rest.removeprefix(_SEPARATOR)}


def _definitions(text: str) -> list[Any] | None:
    definitions, end_tag, _ = text.partition(_TOOLS_OPEN)[2].partition(_TOOLS_CLOSE)
    tools = [jsonio.value(line) for line in definitions.split("\n")] if end_tag else None
    return tools if tools and all(isinstance(tool, dict) for tool in tools) else None
