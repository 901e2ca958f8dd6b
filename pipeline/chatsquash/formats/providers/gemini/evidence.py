"""The evidence for Gemini."""

from __future__ import annotations

from chatsquash.formats.base import Mark, Marks
from chatsquash.formats.providers.gemini.blocks import KINDS, camel
from chatsquash.formats.values import Object, objects


def _turns_with_parts(body: Object) -> bool:
    parts = (part for turn in objects(body.get("messages")) for part in objects(turn.get("parts")))
    return any("type" not in part and camel(part).keys() & KINDS for part in parts)


def _has_candidates(body: Object) -> bool:
    known = map(camel, objects(body.get("candidates")))
    return any(isinstance(each.get("content"), dict) or "finishReason" in each for each in known)


def _has_metadata(body: Object) -> bool:
    known = camel(body)
    return isinstance(known.get("usageMetadata"), dict) or isinstance(known.get("promptFeedback"), dict)


def _evidence(rank: int) -> tuple[Mark, ...]:
    return (
        Mark(rank, "candidates[].content or finishReason", _has_candidates),
        Mark(rank, "usageMetadata or promptFeedback", _has_metadata),
    )


marks = Marks(
    request=(
        Mark(6, "contents", lambda body: isinstance(body.get("contents"), list)),
        Mark(7, "parts without types", _turns_with_parts),
    ),
    response=_evidence(4),
    event=_evidence(3),
)
