"""The generated regions of ``docs/redaction.md``: the rules of the pack, and the members that no search looks at."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from chatsquash.redaction import texts
from chatsquash.redaction.rules import Documented, documented

KEPT = ("bench-redact",)
"""Regions of that page that are measured, not made from the code."""
_CONTEXT = ("context", "commands")
"""The groups of rules that know a value by what stands before it."""


def regions() -> dict[str, str]:
    """Tables of the rules that know values by their shape, of those that know them by context, and of what is kept."""
    shapes = [each for each in documented() if each.group not in _CONTEXT]
    contexts = [each for each in documented() if each.group in _CONTEXT]
    told = f"{len(shapes)} rules find {len({each.kind for each in shapes})} kinds:"
    return {"kinds": f"{told}\n\n{_of_shapes(shapes)}", "contexts": _of_contexts(contexts), "kept": _kept()}


def _kept() -> str:
    """The members that are passed over, and where."""
    ids, sealed, media, beside = map(_names, (texts._IDS, texts._SEALED, texts._MEDIA, texts._MEDIA_BESIDE))
    words = _names(texts._WORDS)
    rows = [
        ("ids", ids, f"`id` beside {_names(texts._IDENTIFIED)} only"),
        (
            "what a service sealed",
            sealed,
            f"{words} beside {_names(texts._BLOCK)} only; and `data` where `type` is {_names(texts._SEALED_TYPES)}",
        ),
        (
            "media",
            media,
            f"beside {beside}; and URLs `data:image/...;base64,`, also `audio`, `video`, `font`, `application`",
        ),
    ]
    given = _names(texts._GIVEN)
    table = "\n".join(["| what | members | where |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)])
    return f"{table}\n\nThey are kept only where they hold nothing but what ids and base64 are of: letters, digits and `+/=_.:|~-`.\n\nBelow {given} (`input` of a call only) everything is the model's or the user's: nothing but URLs of media is kept there."


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _of_shapes(rules: Iterable[Documented]) -> str:
    rows = [f"| {_words(each.group)} | `{each.kind}` | `{each.name}` | {_link(each.source)} |" for each in rules]
    return "\n".join(["| group | kind | rule | documented at |", "|---|---|---|---|", *rows])


def _of_contexts(rules: Iterable[Documented]) -> str:
    rows = [f"| `{each.name}` | {_link(each.source)} |" for each in rules]
    return "\n".join(["| rule | documented at |", "|---|---|", *rows])


def _words(group: str) -> str:
    return group.replace("_", " ")


def _link(source: str) -> str:
    return f"[{urlsplit(source).netloc}]({source})"
