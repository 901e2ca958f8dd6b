"""The generated regions of ``docs/redaction.md``, and the table of the built-in rules."""

from collections.abc import Iterable

import msgspec

from chatsquash.redaction import texts
from chatsquash.redaction.rules import Documented, documented, parse_builtin

BENCH = ("bench-redact",)
"""Regions of the page that are measured, not generated from the code."""
_CONTEXT = ("context", "commands")
"""The groups of rules that recognize a value by its context."""


def regions() -> dict[str, str]:
    """Return the rules that recognize a value by its shape, and the members that are not searched."""
    shapes = [each for each in documented() if each.group not in _CONTEXT]
    return {"kinds": _by_group(shapes), "kept": _unsearched()}


def table() -> str:
    """Return the built-in rules as JSON, one rule per line."""
    return "[" + ",\n".join(msgspec.json.encode(rule).decode() for rule in parse_builtin()) + "]\n"


def _unsearched() -> str:
    """Return the table of members that are not searched."""
    ids, sealed, media, media_beside = map(_names, (texts.IDS, texts.SEALED, texts.MEDIA, texts._MEDIA_BESIDE))
    words = _names(texts._WORDS)
    rows = [
        ("ids", ids, f"`id` only next to {_names(texts._IDENTIFIED)}"),
        (
            "signatures and encrypted content",
            sealed,
            f"{words} only next to {_names(texts._BLOCK)}; also `data` if `type` is {_names(texts._SEALED_TYPES)}",
        ),
        ("media", media, f"next to {media_beside}; also media URLs `data:...;base64,`"),
    ]
    arguments = _names(texts.ARGUMENT_KEYS)
    table = "\n".join(
        ["| content | members | condition |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    )
    return (
        f"{table}\n\nTheir values may contain only letters, digits, and `+/=_.:|~-`. "
        f"Below {arguments} (`input` only in calls), only media URLs are kept."
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _by_group(rules: list[Documented]) -> str:
    """Return a table with the names of rules, one row per group."""
    for rule in rules:
        assert rule.kind == rule.name.upper().replace("-", "_"), f"{rule.name} has the kind {rule.kind}"
    groups = dict.fromkeys(rule.group for rule in rules)
    rows = [
        f"| {group.replace('_', ' ')} | {_names(each.name for each in rules if each.group == group)} |"
        for group in groups
    ]
    return "\n".join(
        [f"{len(rules)} rules recognize a value by its shape:", "", "| group | rules |", "|---|---|", *rows]
    )
