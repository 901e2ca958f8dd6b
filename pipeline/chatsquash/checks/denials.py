"""Detect calls that the user denied."""

from __future__ import annotations

import re

from chatsquash.core import chat
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Message

_START = 400
"""The number of characters at the start of a result that are searched."""
_WORDS = (
    "error|tool|call|use|execution|action|operation|command|exec|patch|edit|change|changes|request|permission|approval"
    "|the|this|that|was|is|has|been|of|to|system|message|result|output|reason|failed|cancelled|canceled|aborted|skipped"
    "|because|not|executed|run|it|sorry"
)
"""Words that clients write before the phrase; other words indicate text that only quotes it."""
_DENIED = lazy_compile(
    rf"""^(?:[^a-z0-9\n]*+(?:{_WORDS})(?![a-z]))*+[^a-z0-9\n]*+(?:
    user[ ]doesn't[ ]want[ ]to[ ](?:proceed[ ]with[ ]this[ ]tool[ ]use|take[ ]this[ ]action[ ]right[ ]now)\b
    |user[ ](?:has[ ]|have[ ])?(?:rejected|denied|declined|refused)\b
    |user[ ](?:has[ ]chosen[ ]to[ ]disallow|(?:did[ ]not|didn't|does[ ]not|doesn't)[ ](?:allow|approve))\b
    |(?:rejected|denied|declined)[ ]by[ ](?:the[ ])?user\b(?![-_.]\w|[ ](?:settings?|config|policy|rules?)\b)
    |denied\Z)""",
    re.MULTILINE | re.VERBOSE,
)
"""Phrases of clients for a call that the user denied, in lower case."""


def is_denied(result: Message) -> bool:
    """Return whether a tool message reports that the user denied the call."""
    if chat.outcome(result) == "denied":
        return True
    text = (chat.text(result) or "")[:_START].lower().replace("\u2019", "'")
    return "user" in text and _DENIED.search(text) is not None
