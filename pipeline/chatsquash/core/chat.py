"""What can be read off canonical chat messages: their text, parts, calls and role tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.blocks import FAILED, Call, Media, Outcome, Result, Source, Text, Turn
from chatsquash.core.model import Json, Message

CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
RESULT_OPEN, RESULT_CLOSE = "<tool_result", "</tool_result>"
_MEDIA = frozenset(
    (
        *("image", "image_url", "input_image"),
        *("audio", "audio_url", "input_audio"),
        *("video", "video_url"),
        *("file", "input_file", "document", "document_url"),
        "computer_call_output",  # a screenshot
    )
)
_MEDIA_MEMBERS = ("inlineData", "inline_data", "fileData", "file_data", "images")
"""Members of Gemini's parts, which have no type, and of what is kept of Ollama's messages."""
_HOSTED = frozenset(
    (
        *("googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval"),
        *("googleMaps", "google_maps", "enterpriseWebSearch", "enterprise_web_search"),
        *("codeExecution", "code_execution", "urlContext", "url_context"),
        *("computerUse", "computer_use", "fileSearch", "file_search"),
    )
)
"""The tools that Gemini runs, each of which is the only member of its definition."""
PRIVATE = "_x"
"""The member with what a message or a definition has and OpenAI chat has no place for; it never reaches a record.

Of a message that is the turn that it was made of, of a definition a ``Private``.
"""


class Private(dict[str, Any]):
    """What a definition of a tool has that only its provider knows.

    A class of its own, so that a member of that name in a log is not taken for it.
    """


_COMPLETE = frozenset((
    *("stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "tool_use", "pause_turn", "tool-calls"),
    *("tool_call", "tooluse", "toolcalls", "completed", "complete", "eos", "eos_token"),
    *("end", "endturn", "stopsequence", "finish", "stop_token", "finish_reason_stop", "finishreason.stop"),
))  # fmt: skip
"""Reasons for which replies end when they are whole, in lower case."""


def is_truncated(reason: str | None) -> bool:
    """Whether a reply ended before it was whole: at a limit, by a filter or an error, or for an unknown reason."""
    return bool(reason) and str(reason).lower() not in _COMPLETE


THINKING = "thinking"
"""What a service removed from a request, if that is only the reasoning of earlier replies."""


def private(holder: Json) -> dict[str, Any]:
    """What a definition carries privately; empty if it carries nothing."""
    members = holder.get(PRIVATE) if isinstance(holder, dict) else None
    return members if isinstance(members, Private) else {}


def turn(message: Json) -> Turn | None:
    """The turn that a message was made of, if it does not say all of it."""
    members = message.get(PRIVATE) if isinstance(message, dict) else None
    return members if type(members) is Turn else None


def texts_after_calls(message: Message) -> list[str]:
    """The texts that an assistant says behind its calls."""
    source_turn = turn(message)
    if source_turn is None or source_turn.role != "assistant":
        return []
    blocks = iter(source_turn.blocks)
    any(type(block) is Call for block in blocks)
    return [block.text for block in blocks if type(block) is Text]


def break_positions(message: Message) -> list[int]:
    """The places of the content before which stood what is no part of it, such as reasoning."""
    source_turn, places = turn(message), list[int]()
    place, is_apart = 0, False
    for block in source_turn.blocks if source_turn and not isinstance(message.get("content"), str) else ():
        if type(block) is Call:
            break
        if type(block) is Text or type(block) is Media:
            if place and (is_apart or getattr(block, "apart", False)):
                places.append(place)
            place, is_apart = place + 1, False
        else:
            is_apart = is_apart or type(block) is not Source
    return places


def made_up_ids(message: Message) -> list[bool]:
    """Of each call of a message whether its id was made up, since none was logged; empty where none was."""
    source_turn = turn(message)
    flags = [block.made_up for block in source_turn.blocks if type(block) is Call] if source_turn else []
    return flags if any(flags) else []


def outcome(message: Message) -> Outcome:
    """How the call came out that a message is the result of, as its format says."""
    source_turn = turn(message)
    first = source_turn.blocks[0] if source_turn and source_turn.blocks else None
    return first.outcome if type(first) is Result else "success"


def is_marked_failed(result: Message) -> bool:
    """Whether the log marks a tool message as an error: by its format, or by a member ``is_error``."""
    return result.get("is_error") is True or (PRIVATE in result and outcome(result) in FAILED)


def part_text(part: Json) -> str | None:
    """The text of one part of a content list; ``None`` for an image or anything else that is no text."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    return None


def text(message: Message) -> str | None:
    """The text of a message: its content, or the text parts of a content list joined; ``None`` if it has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(t for part in content if (t := part_text(part)) is not None)
    return None


def joined_text(message: Message) -> str | None:
    """The text of a message where it is written as one, with what divides its parts; ``None`` if it has none.

    Texts of the assistant that follow each other are one, since citations split sentences; those of others are lines.
    Where anything else stood between two, an empty line does.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    return join(content, message["role"] == "assistant")


def join(parts: list[Json], are_glued: bool, breaks: Collection[int] = ()) -> str:
    """The texts among parts as one; before those at ``breaks`` stood something that is no part."""
    pieces: list[str] = []
    trailing_feeds, ends_with_space, is_apart = (
        0,
        True,
        False,
    )  # what the text so far ends with, and whether something else came behind
    for at, part in enumerate(parts):
        text = part_text(part)
        is_apart = is_apart or text is None or at in breaks
        if not text:
            continue
        lstripped = text.lstrip()
        leading_feeds = text[: len(text) - len(lstripped)].count("\n")
        if not pieces:
            seam = ""
        elif is_apart:
            seam = "\n" * (2 - trailing_feeds - leading_feeds)
        else:
            seam = "" if are_glued or ends_with_space or len(lstripped) < len(text) else "\n"
        pieces += (seam, text)
        stripped = lstripped.rstrip()
        trailing_feeds = (
            lstripped[len(stripped) :].count("\n") if stripped else trailing_feeds + len(seam) + leading_feeds
        )
        ends_with_space, is_apart = text[-1].isspace(), False
    return "".join(pieces)


def media_type(part: Json) -> str | None:
    """The type of a part that is an image, a sound, a film or a file; ``None`` for any other."""
    if not isinstance(part, dict):
        return None
    kind = part.get("type")
    if isinstance(kind, str):
        return kind if kind in _MEDIA else None
    return next((name for name in _MEDIA_MEMBERS if name in part), None)


def other_parts(message: Message) -> list[Json]:
    """The parts of a content list that are no text (images, audio, files); for content that is neither, itself."""
    content = message.get("content")
    if isinstance(content, list):
        return [part for part in content if part_text(part) is None]
    return [] if content is None or isinstance(content, str) else [content]


def calls(message: Message) -> list[dict[str, Any]]:
    """The tool calls of an assistant message that are objects, in order."""
    entries = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(entries, list):
        return []
    return [call for call in entries if isinstance(call, dict)]


def call_name(call: dict[str, Any]) -> str | None:
    """The name of the function that a call names, if it does."""
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) and name else None


def are_missing(arguments: Json) -> bool:
    """Whether the arguments of a call are missing, or an empty text, as some servers send it for no arguments."""
    return arguments is None or (isinstance(arguments, str) and not arguments.strip())


def is_malformed(call: Json) -> bool:
    """Whether the arguments of a call are a text that is neither empty nor a JSON object."""
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return isinstance(arguments, str) and not are_missing(arguments) and not isinstance(jsonio.value(arguments), dict)


def has_calls(message: Message) -> bool:
    """Whether an assistant calls a tool, natively or in the legacy form."""
    return message.get("role") == "assistant" and bool(message.get("tool_calls") or message.get("function_call"))


def role_token(message: Message) -> str:
    """A message's place in a role trace: system, user, tool, another role itself, or Ac, At, Act, A for assistants."""
    role = message["role"]
    if role != "assistant":
        return "system" if role == "developer" else role
    content = message.get("content")
    said = content if type(content) is str else text(message)
    calls = message.get("tool_calls") or message.get("function_call")
    if said and not said.isspace():
        return "Act" if calls else "Ac"
    return "At" if calls else "A"


def tool_name(tool: Json) -> str | None:
    """The name of a flattened tool definition, if it has one."""
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) and name else None


def custom(tool: Json) -> dict[str, Any] | None:
    """What a definition says of a custom tool, which takes a text; ``None`` for any other definition."""
    definition = tool.get("custom") if isinstance(tool, dict) else None
    return definition if isinstance(definition, dict) else None


def custom_definition(tool: Json) -> dict[str, Any] | None:
    """The name, description and format of a custom tool, in either spelling of OpenAI; ``None`` for any other tool.

    A definition of the type ``custom`` with a schema is a function, as Anthropic has it.
    """
    if (definition := custom(tool)) or not isinstance(tool, dict) or tool.get("type") != "custom":
        return definition
    is_function = isinstance(tool.get("function"), dict) or has_schema(tool) or "custom" in tool
    return None if is_function else {key: value for key, value in tool.items() if key != "type"}


SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
"""The members of definitions that have the schema of the arguments: of OpenAI, Anthropic, MCP and Gemini."""


def has_schema(tool: dict[str, Any]) -> bool:
    """Whether a flattened definition has a schema of arguments, in any spelling."""
    return any(isinstance(tool.get(name), dict) for name in SCHEMAS)


CLIENT_TOOLS = ("bash_", "text_editor_", "computer_", "memory_")
"""How the types of tools begin that Anthropic defines and the client runs, so that their calls are ordinary ones."""


def runs_at_provider(tool: Json) -> bool:
    """Whether a flattened definition is of a tool that the provider runs, and nobody described."""
    if not isinstance(tool, dict) or not is_hosted(tool) or has_schema(tool):
        return False
    return not str(tool.get("type")).startswith(CLIENT_TOOLS)


def is_hosted(tool: dict[str, Any]) -> bool:
    """Whether a flattened definition is of a tool that the provider runs.

    Such as ``{"type": "web_search"}``, or ``{"googleSearch": {}}`` as Gemini has it.
    """
    kind = tool.get("type")
    if kind is None and len(tool) == 1 and not _HOSTED.isdisjoint(tool):
        return True
    has_type = isinstance(kind, str) and kind not in ("", "function", "custom")
    return has_type and not isinstance(tool.get("function"), dict)


def strings(value: Json) -> Iterator[str]:
    """Every string in a JSON value, at any depth, keys aside; in no order that counts."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, list):
            todo += item


def trace(messages: list[Message]) -> str:
    """The role tokens of messages, with repetitions counted: ``system user Act tool*2 Ac``."""
    runs = [(name, len(list(run))) for name, run in groupby(map(role_token, messages))]
    return " ".join(name if count == 1 else f"{name}*{count}" for name, count in runs)


def call_count(message: Message) -> int:
    """How many calls an assistant message makes: natively, in the legacy form, or as markup in its text."""
    if message.get("role") != "assistant":
        return 0
    native = message.get("tool_calls")
    if isinstance(native, list) and native:
        return len(native)
    if message.get("function_call"):
        return 1
    return (text(message) or "").count(CALL_OPEN)


def id_key(call_id: Json) -> str | bytes | None:
    """An id as something to look up; ``None`` for an id that is missing, null or empty."""
    if isinstance(call_id, str) or call_id is None:
        return call_id or None
    return jsonio.dumps(call_id)
