"""What a response of OpenAI chat says."""

from __future__ import annotations

from math import isfinite, isnan

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Response, WrongType
from chatsquash.formats.base import missing_reply, wrong
from chatsquash.formats.providers.openai_chat.foreign import is_foreign
from chatsquash.formats.values import Object, kind, objects

FIELDS, _BLOCKS = "provider_specific_fields", "compaction_blocks"
"""Where LiteLLM puts what OpenAI chat has no place for, and there the summaries."""


def reply(body: Json) -> Response:
    """The message of the first choice as it was logged; without a role it is the assistant's."""
    return missing_reply(body) or _first(body.get("choices"))


def holding(message: Json, model: Json = None) -> Object:
    """The body of a response that holds a message, by a model where that is known."""
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
    stopped = reason if isinstance(reason, str) else None
    if message is None:
        return Response(None, count, stopped, "the first choice has no message")
    if not isinstance(message, dict):
        return wrong("response.choices[0].message", kind(message), count)
    number = next((leaf for leaf in jsonio.leaves(message) if isinstance(leaf, float) and not isfinite(leaf)), None)
    if number is not None:
        seen = f"an object with the number {'NaN' if isnan(number) else 'Infinity'}"
        return wrong("response.choices[0].message", seen, count)
    return _said(message, count, stopped)


def _said(message: Object, count: int, stopped: str | None) -> Response:
    if is_foreign(message):
        from chatsquash.formats.providers.openai_chat import rewriting  # which plain chat does not need

        message = rewriting.reply(message)
    role, unlike = message.get("role"), None
    if not isinstance(role, str):
        unlike = WrongType("response.choices[0].message.role", kind(role)) if role is not None else None
        message = {"role": "assistant", **{key: value for key, value in message.items() if key != "role"}}
    compacted, missing = _of_service(message[FIELDS]) if has_service_fields(message) else (None, "")
    return Response(message, count, stopped, wrong=unlike, compacted=compacted, cleared=missing)  # type: ignore[arg-type]


def has_service_fields(message: Object) -> bool:
    """Whether a message says what Anthropic's service did to its request."""
    fields = message.get(FIELDS)
    return isinstance(fields, dict) and bool(fields.get(_BLOCKS) or fields.get("context_management"))


def _of_service(fields: Object) -> tuple[Json, str]:
    """What Anthropic's service did to a request, as LiteLLM logs it: its summary, and what it cleared."""
    from chatsquash.formats.providers.anthropic.compaction import cleared, split_summary  # which few logs need

    blocks = objects(fields.get(_BLOCKS))[-1:]
    return split_summary([*blocks, {"type": "text"}])[0], cleared(fields)
