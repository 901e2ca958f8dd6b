"""Conversations as requests to OpenAI Responses: items for reasoning, messages, calls and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, repeat

from chatsquash import chat, reasoning
from chatsquash.chat import private
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError
from chatsquash.formats.openai_chat.write import canonical, named_tools, strict_call
from chatsquash.formats.openai_responses.assistant import assistant_message
from chatsquash.formats.openai_responses.items import CALLS, RESULTS, ROLES
from chatsquash.formats.values import Object, compact, listed, objects, string
from chatsquash.model import Conversation, Json, Message, Tool

_HOSTED = (
    "additional_tools",
    "configuration_update",
    "item_reference",
    "mcp_list_tools",
    "program",
    "program_output",
    "tool_search_output",
)
"""Items that no message, reasoning, call or result is, beside those whose types end like those of calls."""
_USUAL_DETAIL = {"detail": "auto"}
"""What an image must say in messages and in results of custom calls, but not in those of functions."""
_PHASES = ("commentary", "final_answer")
_KEPT_BLOCKS = ("input_image", "input_file")
"""Blocks that may stand for what has no canonical part, such as an image that is an id."""


def dump(conversation: Conversation) -> Json:
    """A request's input and tools; its instructions only where the system prompt came from such."""
    messages = canonical(conversation.messages)
    body: Object = {}
    if messages and _were_instructions(messages[0]):
        body["instructions"] = messages[0]["content"]
        messages = messages[1:]
    body["input"] = _numbered(chain.from_iterable(_items(messages)))
    defined = [_tool(tool) for tool in named_tools(conversation.tools)]
    return {**body, "tools": defined} if defined else body


def _were_instructions(message: Message) -> bool:
    said = message["role"] == "system" and isinstance(message["content"], str) and message["content"] != ""
    return said and private(message).get("from") == "instructions"


def _numbered(items: Iterator[Object]) -> list[Object]:
    """Items with ids where they need them: reasoning, and an assistant's message in its full form."""
    made = []
    for number, item in enumerate(items, 1):
        prefix = {"reasoning": "rs", "message": "msg"}.get(item.get("type", ""))
        needs = prefix is not None and not isinstance(item.get("id"), str)
        made.append({**item, "id": f"{prefix}_{number}"} if needs else item)
    return made


def _items(messages: list[Message]) -> Iterator[list[Object]]:
    """The items of each message; a result's type is that of the call before it that it answers."""
    called: dict[str, str] = {}
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "assistant":
            called |= {call["id"]: call["type"] for call in chat.calls(message)}
            yield _said(message)
        elif role == "tool":
            yield [_result(message, is_custom=called.get(message["tool_call_id"]) == "custom")]
        elif role in ROLES:
            yield [_told(message)]
        else:
            raise TurnError(f"messages[{number}] has the role {compact(role)[:40]}, which OpenAI Responses has not")


# Others than the assistant


def _told(message: Message) -> Object:
    """A message, or the item that stood in its place."""
    native = objects(private(message).get("native"))
    if message.get("content") is None and len(native) == 1 and _stood_for(native[0], message):
        return native[0]
    return {"role": message["role"], "content": _content(message, native, required=_USUAL_DETAIL)}


def _stood_for(item: Object, message: Message) -> bool:
    return item.get("role") == message["role"] and _is_hosted(item)


def _result(message: Message, *, is_custom: bool) -> Object:
    """A result; a custom call's has no name of its tool, a function's has it where the message has."""
    native = objects(private(message).get("native"))
    output = _content(message, native, required=_USUAL_DETAIL if is_custom else {}) or ""
    found = {"call_id": message["tool_call_id"], "output": output}
    if is_custom:
        return {"type": "custom_tool_call_output", **found}
    name = string(message, "name")
    return {"type": "function_call_output", **found, **({"name": name} if name else {})}


def _content(message: Message, native: list[Object], required: Object) -> Json:
    """The content of anybody but the assistant; blocks that have no canonical part stand behind the others."""
    content = message.get("content")
    kept = [{**_needed(block, required), **block} for block in native if block.get("type") in _KEPT_BLOCKS]
    if isinstance(content, str) and not kept:
        return content
    held = [parts.text(content)] if isinstance(content, str) else objects(content)
    return [block for part in held if (block := _block(part, required))] + kept


def _needed(block: Object, required: Object) -> Object:
    return required if block["type"] == "input_image" else {}


def _block(part: Object, required: Object) -> Object | None:
    """A part as a block of input; ``None`` for audio and anything else that has none."""
    of = part.get("type")
    inner = part.get(of) if isinstance(of, str) else None
    if of == "text" and isinstance(inner, str):
        return {"type": "input_text", "text": inner}
    if of == "image_url" and isinstance(inner, dict) and isinstance(inner.get("url"), str):
        detail = {"detail": inner["detail"]} if inner.get("detail") in ("low", "high", "auto", "original") else required
        return {"type": "input_image", "image_url": inner["url"], **detail}
    if of == "file" and isinstance(inner, dict):
        file = {key: inner[key] for key in ("file_data", "file_id", "file_url", "filename") if string(inner, key)}
        return {"type": "input_file", **file} if file.keys() - {"filename"} else None
    return None


# The assistant


def _said(message: Message) -> list[Object]:
    """An assistant's items: in the order in which they were logged, else reasoning, text, calls, text behind them."""
    held = private(message)
    order = string(held, "order")
    late = [[parts.text(text)] for text in listed(held.get("after")) if isinstance(text, str)]
    logged = order.partition("c")[0].count("m") if order else len(listed(held.get("phase"))) - len(late)
    early = _grouped(_spoken(message), logged)
    slots = {
        "r": [_thought(block) for block in _thoughts(message)],
        "m": _messages(early + late, held),
        "c": [_call(made, private(call)) for call in chat.calls(message) if (made := strict_call(call))],
        "n": [item for item in objects(held.get("native")) if _is_hosted(item)],
    }
    usual = "r" * len(slots["r"]) + "m" * len(early) + "c" * len(slots["c"]) + "m" * len(late) + "n" * len(slots["n"])
    left = {slot: iter(items) for slot, items in slots.items()}
    fits = Counter(order) == Counter(usual) and logged == len(early)
    found = [next(left[slot]) for slot in (order if fits else usual)]
    return found or [{"role": "assistant", "content": []}]


def _spoken(message: Message) -> list[Object]:
    """The texts and refusals of an assistant, who shows nothing else here."""
    content, refusal = message.get("content"), message.get("refusal")
    held = [parts.text(content)] if isinstance(content, str) else objects(content)
    held = [p for p in held if p.get("type") in ("text", "refusal") and isinstance(p.get(p["type"]), str)]
    return [*held, {"type": "refusal", "refusal": refusal}] if isinstance(refusal, str) else held


def _grouped(spoken: list[Object], logged: int) -> list[list[Object]]:
    """Parts by the messages that they stand in: one, unless just so many were logged as there are parts."""
    return [[part] for part in spoken] if logged == len(spoken) else [spoken] if spoken else []


def _messages(groups: list[list[Object]], held: Object) -> list[Object]:
    """The messages of an assistant, with their phases and annotations if these are of as many as there are."""
    count, phases, notes = sum(map(len, groups)), held.get("phase"), held.get("annotations")
    noted = iter(notes if isinstance(notes, list) and len(notes) == count else repeat([], count))
    phased = phases if isinstance(phases, list) and len(phases) == len(groups) else repeat(None)
    return [
        {**_message([(part, next(noted)) for part in group]), **({"phase": phase} if phase in _PHASES else {})}
        for group, phase in zip(groups, phased, strict=False)
    ]


def _message(spoken: list[tuple[Object, Json]]) -> Object:
    """A message, in its easy form where it is one text and no more."""
    (part, notes), *others = spoken
    if part["type"] == "text" and not notes and not others:
        return {"role": "assistant", "content": part["text"]}
    blocks = [
        {"type": "output_text", "text": part["text"], "annotations": objects(notes)}
        if part["type"] == "text"
        else {"type": "refusal", "refusal": part["refusal"]}
        for part, notes in spoken
    ]
    return {"type": "message", "role": "assistant", "status": "completed", "content": blocks}


def _thoughts(message: Message) -> list[Object]:
    """The blocks of reasoning, if they say what the message's reasoning is; else that."""
    blocks = objects(private(message).get("thinking"))
    blocks = [block for block in blocks if not block or string(block, "text") or _is_sealed(block)]
    said = reasoning.joined(blocks)
    whole = string(message, "reasoning_content")
    if not whole or said == whole:
        return blocks
    return [{"text": whole}, *([] if said else blocks)]


def _is_sealed(block: Object) -> bool:
    """Whether a block is encrypted by this service, as far as can be told: others name their formats."""
    return string(block, "encrypted") != "" and block.keys() <= {"text", "encrypted", "id", "item"}


def _thought(block: Object) -> Object:
    """A reasoning item; what another provider signed or encrypted is of no use to this one."""
    item = block.get("item")
    if isinstance(item, dict) and private(assistant_message([item], 1)).get("thinking") == [block]:
        return {"summary": [], **item}
    text = string(block, "text")
    made: Object = {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}] if text else []}
    if _is_sealed(block):
        made |= {"id": block["id"]} if string(block, "id") else {}
        made["encrypted_content"] = block["encrypted"]
    return made


def _call(call: Object, held: Object) -> Object:
    """A call with its arguments as they stand."""
    of = call["type"]
    kind, member = ("custom_tool_call", "input") if of == "custom" else ("function_call", "arguments")
    made = {"type": kind, "call_id": call["id"], "name": call[of]["name"], member: call[of][member]}
    made |= {"namespace": held["namespace"]} if string(held, "namespace") else {}
    return made | ({"caller": held["caller"]} if isinstance(held.get("caller"), dict) else {})


def _is_hosted(item: Object) -> bool:
    """Whether something kept as logged is an item of this format that its service made."""
    of = item.get("type")
    if not isinstance(of, str) or of in (*CALLS, *RESULTS):
        return False
    sealed = of == "compaction" and "encrypted_content" in item
    return sealed or of in _HOSTED or of.startswith("mcp_approval_") or of.endswith(("_call", "_call_output"))


# Tools


def _tool(tool: Tool) -> Object:
    """A definition, flat; the library wants parameters and strictness even where they are null."""
    is_function = isinstance(tool.get("function"), dict)
    inner, held = tool["function" if is_function else "custom"], private(tool)
    made = {"type": "function" if is_function else "custom", "name": inner["name"]}
    made |= {"description": inner["description"]} if isinstance(inner.get("description"), str) else {}
    if is_function:
        for member, of in (("parameters", dict), ("strict", bool)):
            made[member] = inner[member] if isinstance(inner.get(member), of) else None
    elif isinstance(inner.get("format"), dict):
        form = inner["format"]
        grammar = form.get("grammar")
        made["format"] = {"type": "grammar", **grammar} if isinstance(grammar, dict) else form
    return made | ({"defer_loading": True} if held.get("defer_loading") is True else {})
