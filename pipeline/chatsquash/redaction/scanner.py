"""A second detector for secrets: the rules of Kingfisher, which run in-process without network access."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, pairwise
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.redaction.forms import merge_overlapping
from chatsquash.redaction.lookalikes import is_lookalike
from chatsquash.redaction.secrets import kind_of
from chatsquash.redaction.values import Finder, Hit

_folder: str | None = None
"""The folder for compiled rules, if they are cached."""


def keep_in(folder: str) -> None:
    """Cache compiled rules in a folder, which makes loading them ten times faster."""
    global _folder  # noqa: PLW0603 - one per process
    _folder = folder


def scanner() -> Finder:
    """Return a finder with Kingfisher's rules, which verifies no secrets and only writes its cache (``keep_in``).

    It is initialized by the first text.

    Raises:
        UsageError: The library is not installed.
    """
    if find_spec("kingfisher_sdk") is None:
        hint = "pip install 'chatsquash[redact]'"
        raise UsageError(f"--redact secrets+kingfisher requires the kingfisher-secret-scanner package: {hint}")
    return _scan


def start() -> None:
    """Compile the rules, or load them from the cache."""
    _native()


@cache
def _native() -> Any:
    from kingfisher_sdk import DetectionPolicy, Rules, Scanner

    # Comments in a log must not disable rules, and its texts have no single language.
    policy = DetectionPolicy(inline_ignores=False, markup_context=False)
    return Scanner(Rules(cache=_folder is not None, cache_dir=_folder), policy=policy)


def _scan(text: str) -> list[Hit]:
    data = text.encode("utf-8", "replace")
    return merge_overlapping(_hits(text, data, [each for each in _native().scan(data) if each.visible]))


def _hits(text: str, data: bytes, findings: list[Any]) -> Iterator[Hit]:
    spans = [(each.location["start_offset"], each.location["end_offset"]) for each in findings]
    places = _characters(data, sorted({0, *(place for span in spans for place in span)}))
    for each, (start, end) in zip(findings, spans, strict=True):
        value = each.secret if each.is_base64_encoded else text[places[start] : places[end]]
        if end > start and not is_lookalike(value):
            yield Hit(places[start], places[end], kind_of(value), f"kingfisher:{each.rule_id}", value)


def _characters(data: bytes, offsets: list[int]) -> dict[int, int]:
    """Map sorted byte offsets to character offsets."""
    lengths = (len(data[start:end].decode("utf-8", "ignore")) for start, end in pairwise(offsets))
    return dict(zip(offsets, accumulate(lengths, initial=0), strict=True))
