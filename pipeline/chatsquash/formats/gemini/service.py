"""What Gemini's service wants of a request."""

from __future__ import annotations

import re

from chatsquash.formats.service import Letters, Service, only
from chatsquash.model import Json

_PART = (
    *("text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse"),
    *("executableCode", "codeExecutionResult", "toolCall", "toolResponse", "videoMetadata", "mediaResolution"),
    "partMetadata",
)
"""What a part may have."""


def _strict(body: Json) -> Json:
    """Contents that say something, with the members that the service has."""
    return {
        **body,
        "contents": [
            {"role": turn["role"], "parts": [only(part, _PART) for part in turn["parts"]]}
            for turn in body["contents"]
            if turn["parts"] != [{"text": ""}]
        ],
    }


SERVICE = Service(
    names=Letters(re.compile(r"[^a-zA-Z0-9_.:-]"), longest=128, starts=re.compile("[a-zA-Z_]")),
    takes=lambda block: block.signer == "google",
    prompts=("system",),
    prompts_among_turns=False,
    strict=_strict,
)
