"""A second opinion on secrets: the rules of Kingfisher, in this process, without the network."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, pairwise
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.redaction.forms import apart
from chatsquash.redaction.hits import Finder, Hit
from chatsquash.redaction.lookalikes import is_lookalike
from chatsquash.redaction.secrets import kind_of

_folder: str | None = None
"""Where compiled rules are kept, if anywhere."""


def keep_in(folder: str) -> None:
    """Keep compiled rules in a folder from now on: made once, they are read in a tenth of the time."""
    global _folder  # noqa: PLW0603 - one of a process
    _folder = folder


def scanner() -> Finder:
    """Finds what Kingfisher's rules find; it verifies nothing, and writes nothing but its compiled rules (``keep_in``).

    It starts with the first text.  Raises ``UsageError`` without the library.
    """
    if find_spec("kingfisher_sdk") is None:
        hint = "pip install 'chatsquash[redact]'"
        raise UsageError(f"--redact secrets+kingfisher: needs kingfisher-secret-scanner; {hint}")
    return _scan


def start() -> None:
    """Compile the rules, or read those that are kept."""
    _native()


@cache
def _native() -> Any:
    from kingfisher_sdk import DetectionPolicy, Rules, Scanner

    # What a log says of itself turns no rule off, and its texts are of no one language.
    policy = DetectionPolicy(inline_ignores=False, markup_context=False)
    return Scanner(Rules(cache=_folder is not None, cache_dir=_folder), policy=policy)


def _scan(text: str) -> list[Hit]:
    data = text.encode("utf-8", "replace")
    return apart(_hits(text, data, [each for each in _native().scan(data) if each.visible]))


def _hits(text: str, data: bytes, findings: list[Any]) -> Iterator[Hit]:
    spans = [(each.location["start_offset"], each.location["end_offset"]) for each in findings]
    places = _characters(data, sorted({0, *(place for span in spans for place in span)}))
    for each, (start, end) in zip(findings, spans, strict=True):
        value = each.secret if each.is_base64_encoded else text[places[start] : places[end]]
        if end > start and not is_lookalike(value):
            yield Hit(places[start], places[end], kind_of(value), f"kingfisher:{each.rule_id}", value)


def _characters(data: bytes, offsets: list[int]) -> dict[int, int]:
    """The characters that begin at offsets of bytes, which are in order."""
    lengths = (len(data[start:end].decode("utf-8", "ignore")) for start, end in pairwise(offsets))
    return dict(zip(offsets, accumulate(lengths, initial=0), strict=True))
