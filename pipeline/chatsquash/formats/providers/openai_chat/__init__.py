"""OpenAI chat completions, including the variants of other vendors."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.blocks import Turn
from chatsquash.core.model import Conversation, Json, Response, WrongType
from chatsquash.formats.base import LoadedTurn, Stream, Tools, missing_reply, wrong
from chatsquash.formats.base import no_open_turns as close
from chatsquash.formats.providers.openai_chat.members import SYSTEM, has_foreign, is_foreign, marks, variants
from chatsquash.formats.values import Object, kind, objects

NAME = "openai_chat"
PROVIDER = NAME
START = None
PLACE = 90
TURNS = "messages"
TOOLS = ("tools", "functions")
REFERS: tuple[str, ...] = ()
FIELDS, _BLOCKS = "provider_specific_fields", "compaction_blocks"
"""LiteLLM's member for content that OpenAI chat does not support, and its member for summaries."""


def accepts(request: Object) -> bool:
    """Return whether a request has no content of another format; see ``members``."""
    return not has_foreign(request)


def load(turn: Json, state: Any) -> LoadedTurn:
    """Load a message as one turn; see ``read.load``."""
    from chatsquash.formats.providers.openai_chat import read  # imported late: plain chat stays as logged

    return read.load(turn, state or read.START)


def tools(value: Json) -> Tools:
    """Load tool definitions; see ``read.tools``."""
    from chatsquash.formats.providers.openai_chat import read  # imported late: definitions of functions stay as logged

    return read.tools(value)


def system(value: Json) -> list[Turn]:
    """Load a system prompt outside the messages, as logged by gateways that translate; see ``anthropic.read``."""
    from chatsquash.formats.providers.anthropic import read  # imported late: plain chat does not need it

    return read.system(value)


def assemble(events: list[Json]) -> Stream:
    """Assemble a completion from its chunks; see ``stream.assemble``."""
    from chatsquash.formats.providers.openai_chat import stream  # imported late: only streams need it

    return stream.assemble(events)


def dump(conversation: Conversation) -> Json:
    """Write the messages and the tools of a request; see ``write.dump``."""
    from chatsquash.formats.providers.openai_chat import write  # imported late: only translations need it

    return write.dump(conversation)


def reply(body: Json) -> Response:
    """Return the message of the first choice as logged, with its role added if it is missing."""
    return missing_reply(body) or _first(body.get("choices"))


def response_body(message: Json, model: Json = None) -> Object:
    """Build a response body from a message, and the model if it is known."""
    body: Object = {"choices": [{"index": 0, "message": message}]}
    return {**body, "model": model} if isinstance(model, str) and model else body


def _first(choices: Json) -> Response:
    if choices is not None and not isinstance(choices, list):
        return wrong("response.choices", kind(choices))
    if not choices:
        return Response(problem="the response has no choices")
    if not isinstance(choices[0], dict):
        return wrong("response.choices[0]", kind(choices[0]), len(choices))
    return _answer(choices[0].get("message"), choices[0].get("finish_reason"), len(choices))


def _answer(message: Json, reason: Json, count: int) -> Response:
    finish_reason = reason if isinstance(reason, str) else None
    if message is None:
        return Response(None, count, finish_reason, "the first choice has no message")
    if not isinstance(message, dict):
        return wrong("response.choices[0].message", kind(message), count)
    # Records are JSON, which has no such numbers.
    number = next((leaf for leaf in jsonio.leaves(message) if isinstance(leaf, float) and not isfinite(leaf)), None)
    if number is not None:
        seen = f"an object with the number {'NaN' if isnan(number) else 'Infinity'}"
        return wrong("response.choices[0].message", seen, count)
    return _load_message(message, count, finish_reason)


def _load_message(message: Object, count: int, finish_reason: str | None) -> Response:
    if is_foreign(message):
        from chatsquash.formats.providers.openai_chat import rewriting  # imported late: plain chat does not need it

        message = rewriting.reply(message)
    role, wrong_role = message.get("role"), None
    if not isinstance(role, str):
        wrong_role = WrongType("response.choices[0].message.role", kind(role)) if role is not None else None
        message = {"role": "assistant", **{key: value for key, value in message.items() if key != "role"}}
    compacted, missing = _service_changes(message[FIELDS]) if has_service_fields(message) else (None, "")
    return Response(message, count, finish_reason, wrong=wrong_role, compacted=compacted, cleared=missing)  # type: ignore[arg-type]


def has_service_fields(message: Object) -> bool:
    """Return whether a message reports changes to its request by Anthropic's service."""
    fields = message.get(FIELDS)
    return isinstance(fields, dict) and bool(fields.get(_BLOCKS) or fields.get("context_management"))


def _service_changes(fields: Object) -> tuple[Json, str]:
    """Return the summary and a description of the changes to a request by Anthropic's service, as logged by LiteLLM."""
    from chatsquash.formats.providers.anthropic.compaction import (
        cleared,
        split_summary,
    )  # imported late: few logs need it

    blocks = objects(fields.get(_BLOCKS))[-1:]
    return split_summary([*blocks, {"type": "text"}])[0], cleared(fields)


LOSES = "video, result image, result file, approval, hosted call, unanswered hosted call"
"""The kinds of content that lose information when written, by their names in ``docs/formats.md``."""
BLURS = """
instructions, text after call, file id of Anthropic, result json obj, result json list, is_error, denied result,
reasoning of two blocks, reasoning between, anthropic signature, anthropic redacted, openai encrypted, native members
"""
"""The kinds of content that lose only their place, boundaries or marks."""

__all__ = ["SYSTEM", "close", "marks", "reply", "variants"]
