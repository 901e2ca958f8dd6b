"""Functions on canonical chat messages: text, parts, calls and role tokens."""

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
"""Members that identify untyped parts as media: those of Gemini, and the images in Ollama messages."""
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
"""The member for content that OpenAI chat cannot express, which is never written to a record.

In a message it contains the turn from which the message was made, in a tool definition a ``Private``.
"""


class Private(dict[str, Any]):
    """The members of a tool definition that only its provider supports.

    A separate class distinguishes them from a member with the same name in a log.
    """


_COMPLETE = frozenset((
    *("stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "tool_use", "pause_turn", "tool-calls"),
    *("tool_call", "tooluse", "toolcalls", "completed", "complete", "eos", "eos_token"),
    *("end", "endturn", "stopsequence", "finish", "stop_token", "finish_reason_stop", "finishreason.stop"),
))  # fmt: skip
"""The finish reasons of complete replies, in lower case."""


def is_truncated(reason: str | None) -> bool:
    """Return whether a reply is incomplete: stopped by a limit, a filter or an error, or for an unknown reason."""
    return bool(reason) and str(reason).lower() not in _COMPLETE


THINKING = "thinking"
"""The value of ``Response.cleared`` if a service removed only the reasoning of earlier replies."""


def private(holder: Json) -> dict[str, Any]:
    """Return the private members of a tool definition, possibly an empty dictionary."""
    members = holder.get(PRIVATE) if isinstance(holder, dict) else None
    return members if isinstance(members, Private) else {}


def turn(message: Json) -> Turn | None:
    """Return the turn from which a message was made, if the message cannot express all of the turn."""
    members = message.get(PRIVATE) if isinstance(message, dict) else None
    return members if type(members) is Turn else None


def texts_after_calls(message: Message) -> list[str]:
    """Return the texts of an assistant message that follow its calls."""
    source_turn = turn(message)
    if source_turn is None or source_turn.role != "assistant":
        return []
    blocks = iter(source_turn.blocks)
    any(type(block) is Call for block in blocks)  # advances to the first call
    return [block.text for block in blocks if type(block) is Text]


def break_positions(message: Message) -> list[int]:
    """Return the indices of content parts that follow a block outside the content, such as reasoning."""
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
    """Return, for each call, whether its id was generated because none was logged; empty if all ids were logged."""
    source_turn = turn(message)
    flags = [block.made_up for block in source_turn.blocks if type(block) is Call] if source_turn else []
    return flags if any(flags) else []


def outcome(message: Message) -> Outcome:
    """Return the outcome of the call that a tool message answers, according to its format."""
    source_turn = turn(message)
    first = source_turn.blocks[0] if source_turn and source_turn.blocks else None
    return first.outcome if type(first) is Result else "success"


def is_marked_failed(result: Message) -> bool:
    """Return whether the log marks a tool message as an error, through its format or the ``is_error`` member."""
    return result.get("is_error") is True or (PRIVATE in result and outcome(result) in FAILED)


def part_text(part: Json) -> str | None:
    """Return the text of a content part, or ``None`` for an image or any other part without text."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    return None


def text(message: Message) -> str | None:
    """Return the text of a message: its content, or its text parts joined, or ``None`` for any other content."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(t for part in content if (t := part_text(part)) is not None)
    return None


def joined_text(message: Message) -> str | None:
    """Return the text of a message as one string, with separators between its parts, or ``None`` without text.

    Adjacent texts of the assistant are concatenated. Those of other roles become separate lines. Texts with anything
    else between them are separated by an empty line.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    # Citations split the sentences of an assistant into several parts.
    return join(content, message["role"] == "assistant")


def join(parts: list[Json], are_glued: bool, breaks: Collection[int] = ()) -> str:
    """Join the texts among content parts.

    Args:
        parts: The content parts.
        are_glued: Whether to concatenate adjacent texts instead of separating them with line feeds.
        breaks: Indices of parts that follow something outside the content.
    """
    pieces: list[str] = []
    trailing_feeds = 0  # line feeds at the end of the text so far
    ends_with_space, is_apart = True, False
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
        body = lstripped.rstrip()
        if body:
            trailing_feeds = lstripped[len(body) :].count("\n")
        else:
            trailing_feeds += len(seam) + leading_feeds
        ends_with_space, is_apart = text[-1].isspace(), False
    return "".join(pieces)


def media_type(part: Json) -> str | None:
    """Return the type of a part that is an image, audio, a video or a file, or ``None`` for any other part."""
    if not isinstance(part, dict):
        return None
    kind = part.get("type")
    if isinstance(kind, str):
        return kind if kind in _MEDIA else None
    return next((name for name in _MEDIA_MEMBERS if name in part), None)


def other_parts(message: Message) -> list[Json]:
    """Return the content parts without text (images, audio, files); content of another type is a single part."""
    content = message.get("content")
    if isinstance(content, list):
        return [part for part in content if part_text(part) is None]
    return [] if content is None or isinstance(content, str) else [content]


def calls(message: Message) -> list[dict[str, Any]]:
    """Return the tool calls of an assistant message in order, without any that are not objects."""
    entries = message.get("tool_calls")
    if type(entries) is not list or message.get("role") != "assistant":
        return []
    return [call for call in entries if isinstance(call, dict)]


def call_name(call: dict[str, Any]) -> str | None:
    """Return the name of the called function, or ``None``."""
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) and name else None


def are_missing(arguments: Json) -> bool:
    """Return whether the arguments of a call are missing or empty."""
    # Some servers send an empty string instead of an empty object.
    return arguments is None or (isinstance(arguments, str) and not arguments.strip())


def is_malformed(call: Json) -> bool:
    """Return whether the arguments of a call are a string that is neither empty nor a JSON object."""
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return isinstance(arguments, str) and not are_missing(arguments) and not isinstance(jsonio.value(arguments), dict)


def has_calls(message: Message) -> bool:
    """Return whether an assistant message calls a tool, in the current or the legacy form."""
    return message.get("role") == "assistant" and bool(message.get("tool_calls") or message.get("function_call"))


def role_token(message: Message) -> str:
    """Return the role token of a message: its role or, for an assistant, Ac, At, Act or A.

    ``c`` stands for content and ``t`` for tool calls.
    """
    role = message["role"]
    if role != "assistant":
        return "system" if role == "developer" else role
    content = message.get("content")
    visible = content if type(content) is str else text(message)
    calls = message.get("tool_calls") or message.get("function_call")
    if visible and not visible.isspace():
        return "Act" if calls else "Ac"
    return "At" if calls else "A"


def tool_name(tool: Json) -> str | None:
    """Return the name of a flattened tool definition, or ``None``."""
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) and name else None


def custom(tool: Json) -> dict[str, Any] | None:
    """Return the definition of a custom tool, whose input is text, or ``None`` for any other definition."""
    definition = tool.get("custom") if isinstance(tool, dict) else None
    return definition if isinstance(definition, dict) else None


# A definition of type ``custom`` with a schema is a function, as in Anthropic's API.
def custom_definition(tool: Json) -> dict[str, Any] | None:
    """Return the name, description and format of a custom tool in either OpenAI spelling; ``None`` otherwise."""
    if (definition := custom(tool)) or not isinstance(tool, dict) or tool.get("type") != "custom":
        return definition
    is_function = isinstance(tool.get("function"), dict) or has_schema(tool) or "custom" in tool
    return None if is_function else {key: value for key, value in tool.items() if key != "type"}


SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
"""The members with the schema of the arguments in definitions of OpenAI, Anthropic, MCP and Gemini."""


def has_schema(tool: dict[str, Any]) -> bool:
    """Return whether a flattened definition has a schema of arguments, in any spelling."""
    return any(isinstance(tool.get(name), dict) for name in SCHEMAS)


CLIENT_TOOLS = ("bash_", "text_editor_", "computer_", "memory_")
"""Type prefixes of tools that Anthropic defines but the client runs, so that their calls are ordinary calls."""


def runs_at_provider(tool: Json) -> bool:
    """Return whether a flattened definition identifies a tool of the provider without describing it."""
    if not isinstance(tool, dict) or not is_hosted(tool) or has_schema(tool):
        return False
    return not str(tool.get("type")).startswith(CLIENT_TOOLS)


def is_hosted(tool: dict[str, Any]) -> bool:
    """Return whether a flattened definition is for a tool that the provider runs.

    Examples are ``{"type": "web_search"}`` and Gemini's ``{"googleSearch": {}}``.
    """
    kind = tool.get("type")
    if kind is None and len(tool) == 1 and not _HOSTED.isdisjoint(tool):
        return True
    has_type = isinstance(kind, str) and kind not in ("", "function", "custom")
    return has_type and not isinstance(tool.get("function"), dict)


def strings(value: Json) -> Iterator[str]:
    """Yield every string in a JSON value except keys, at any depth and in no particular order."""
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
    """Return the role tokens of messages with repetition counts: ``system user Act tool*2 Ac``."""
    runs = [(name, len(list(run))) for name, run in groupby(map(role_token, messages))]
    return " ".join(name if count == 1 else f"{name}*{count}" for name, count in runs)


def call_count(message: Message) -> int:
    """Return the number of calls of an assistant message: in the current or legacy form, or as markup in its text."""
    if message.get("role") != "assistant":
        return 0
    native = message.get("tool_calls")
    if native and isinstance(native, list):
        return len(native)
    if message.get("function_call"):
        return 1
    content = message.get("content")
    visible = content if type(content) is str else text(message)
    return visible.count(CALL_OPEN) if visible else 0


def id_key(call_id: Json) -> str | bytes | None:
    """Return an id as a dictionary key, or ``None`` for an id that is missing, null or empty."""
    if isinstance(call_id, str) or call_id is None:
        return call_id or None
    return jsonio.dumps(call_id)
