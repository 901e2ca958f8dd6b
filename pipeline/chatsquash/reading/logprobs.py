"""What a response says of each token that was sampled: log probabilities and ids, as they are logged."""

from __future__ import annotations

from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.reading import replies
from chatsquash.reading.usage import holders

_LISTS = ("content", "refusal", "token_ids")


def of_raw(raw: bytes) -> bytes:
    """Those of the first choice of a raw response, as JSON; empty where it has none.

    They are an object: ``content`` and ``refusal`` as OpenAI has them, ``token_ids`` where a server returns these,
    ``logprobsResult`` of Gemini.  What stands in several chunks of a stream is put together.
    """
    if b"logprobs" not in raw and b"token_ids" not in raw:
        return b""
    try:
        body = replies.unwrapped(jsonio.loads(raw))
    except (ValueError, RecursionError):
        return b""
    streamed = replies.events(body)
    values: dict[str, Any] = {}
    for event in streamed[0] if streamed else [body]:
        for holder in holders(event):
            _take(holder, values)
    return jsonio.dumps(values) if values else b""


def _take(holder: dict[str, Any], values: dict[str, Any]) -> None:
    """Take what a response, or a chunk of one, says."""
    for name in ("choices", "candidates"):
        listed = holder.get(name)
        choice = listed[0] if isinstance(listed, list) and listed else None
        if isinstance(choice, dict):
            _add(choice.get("logprobs"), values)
            _extend("token_ids", choice.get("token_ids"), values)
            if isinstance(choice.get("logprobsResult"), dict):
                values["logprobsResult"] = choice["logprobsResult"]
    if isinstance(holder.get("logprobs"), list):  # Ollama's
        _extend("content", holder["logprobs"], values)
    output = holder.get("output")
    for item in output if isinstance(output, list) else ():
        parts = item.get("content") if isinstance(item, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                _extend("content", part.get("logprobs"), values)


def _add(value: Json, values: dict[str, Any]) -> None:
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        if name in _LISTS:
            _extend(name, member, values)
        elif member is not None:
            values[name] = member


def _extend(name: str, value: Json, values: dict[str, Any]) -> None:
    if isinstance(value, list) and value:
        values.setdefault(name, []).extend(value)
