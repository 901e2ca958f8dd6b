"""Whether a reply is no reply of a model, but an error that a client or a proxy logged in its place.

Only what nearly no model says counts: an error of a service as JSON, or a short text that begins as those of clients.
"""

from __future__ import annotations

import re

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message

_LONG = 2000
"""Characters that such a text has at most."""
_BEGINS = re.compile(
    r"""\A\[?(?:
    (?i:api[ ]error|error[ ]code)\b:?[ ]
    |(?i:(?:http|status)[ ](?:error[ ])?[45]\d\d)\b
    |[45]\d\d[ ](?:\{|(?i:bad[ ]request|unauthorized|forbidden|not[ ]found|too[ ]many[ ]requests
        |internal[ ]server[ ]error|bad[ ]gateway|service[ ]unavailable|gateway[ ]time-?out)\b)
    |(?:[a-z_]\w*+\.)++[A-Z]\w{0,80}(?:Error|Exception):[ ]
    |(?:RateLimit|BadRequest|Authentication|PermissionDenied|NotFound|InternalServer|APIConnection|APITimeout|APIStatus
        |API|Overloaded|ServiceUnavailable|ContextWindowExceeded)Error(?::[ ]|\Z)
    |(?i:connection[ ]error|request[ ]timed[ ]out|request[ ]was[ ]aborted|overloaded)\.?\Z
    |(?i:ran[ ]into[ ]this[ ]error|upstream[ ](?:connect[ ])?error)\b
    )""",
    re.VERBOSE,
)


def is_error(message: Message) -> bool:
    """Whether an assistant message is such an error."""
    if chat.has_calls(message):
        return False
    text = (chat.text(message) or "").strip()
    if not text or len(text) > _LONG:
        return False
    return _is_body(text) if text.startswith("{") else _BEGINS.match(text) is not None


def _is_body(text: str) -> bool:
    """Whether a text is what a service answers where it fails."""
    value: Json = jsonio.value(text)
    error = value.get("error") if value else None
    return isinstance(error, dict) and isinstance(error.get("message"), str)
