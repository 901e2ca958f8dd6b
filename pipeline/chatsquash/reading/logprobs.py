"""Log probabilities and token ids in responses, in their logged form."""

from __future__ import annotations

from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.token_ids import unpack_ids
from chatsquash.reading import replies, token_ids
from chatsquash.reading.usage import holders

_LISTS = ("content", "refusal", "token_ids")


def of_raw(raw: bytes) -> bytes:
    """Return the log probabilities of a raw response's first choice as JSON, or empty bytes if it has none.

    The result is an object with ``content`` and ``refusal`` as in OpenAI's format, ``token_ids`` if the server returns
    them under any name, and Gemini's ``logprobsResult``. Values from the chunks of a stream are concatenated.
    """
    # Few responses have log probabilities, and searching the bytes is faster than parsing.
    if not any(sign in raw for sign in (b"logprobs", b"token_ids", b"output_ids", b"log_probs")):
        return b""
    try:
        body = replies.unwrapped(jsonio.loads(raw))
    except (ValueError, RecursionError):
        return b""
    streamed = replies.events(body)
    values: dict[str, Any] = {}
    for event in streamed[0] if streamed else [body]:
        for holder in holders(event):
            _collect(holder, values)
    if "token_ids" not in values and (ids := token_ids.of_body(body)):
        values["token_ids"] = unpack_ids(ids.completion)
    return jsonio.dumps(values) if values else b""


def _collect(holder: dict[str, Any], values: dict[str, Any]) -> None:
    """Collect the values of a response, or of one of its chunks."""
    for name in ("choices", "candidates"):
        choices = holder.get(name)
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            _add(choice.get("logprobs"), values)
            _extend("token_ids", choice.get("token_ids"), values)
            if isinstance(choice.get("logprobsResult"), dict):
                values["logprobsResult"] = choice["logprobsResult"]
    if isinstance(holder.get("logprobs"), list):  # written by Ollama
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
