"""The constraints of Gemini's service on requests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatsquash.core.model import Json
from chatsquash.formats.providers.gemini.blocks import PROVIDER
from chatsquash.formats.service import NameRule, Service, only
from chatsquash.formats.values import Object, objects

_PART = (
    *("text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse"),
    *("executableCode", "codeExecutionResult", "toolCall", "toolResponse", "videoMetadata", "mediaResolution"),
    "partMetadata",
)
"""The allowed members of a part."""


def _strict_body(body: Json) -> Json:
    """Return a request without empty turns and without members that the service does not accept."""
    contents = [{"role": turn["role"], "parts": list(_parts(turn["parts"]))} for turn in body["contents"]]
    return {**body, "contents": [turn for turn in contents if turn["parts"]]}


def _parts(parts: list[Json]) -> Iterator[Object]:
    known = (only(part, _PART) for part in objects(parts))
    return (part for part in known if part and part != {"text": ""})


SERVICE = Service(
    PROVIDER,
    accepts_reasoning=lambda block: block.signer == PROVIDER and bool(block.signature),
    names=NameRule(re.compile(r"[^a-zA-Z0-9_.:-]"), max_length=128, start=re.compile("[a-zA-Z_]")),
    openable_urls=re.compile("(?!data:|file:|s3:)", re.IGNORECASE),
    images=("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    prompts=("system",),
    prompts_among_turns=False,
    requires_input_before_calls=True,
    remove_unknown_members=_strict_body,
)
