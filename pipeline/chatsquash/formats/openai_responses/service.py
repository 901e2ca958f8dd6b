"""What OpenAI's service wants of a request for a response."""

from __future__ import annotations

import re

from chatsquash.formats.service import Letters, Service
from chatsquash.model import Json


def _strict(body: Json) -> Json:
    """Items that say something."""
    return {**body, "input": [item for item in body["input"] if item.get("content") != []]}


SERVICE = Service(
    names=Letters(re.compile(r"[^a-zA-Z0-9_-]"), longest=128),
    ids=Letters(re.compile("(?!)"), longest=64),
    takes=lambda block: block.signer == "openai" and bool(block.encrypted or block.id),
    reasoning_leads=True,
    strict=_strict,
)
