"""The texts of a page: Markdown, edits as diffs, and highlighted secrets, within limits per page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice

from chatsquash.pages.html.markup import Html, tag, text, together
from chatsquash.redaction.redactor import Redactor
from chatsquash.redaction.values import UnsearchedError
from chatsquash.view.pages import code
from chatsquash.view.pages.edits import edit_diff
from chatsquash.view.pages.markdown import rendered

_RENDERED = 50_000
"""Characters of a page that are rendered as Markdown; the rest is shown as written."""
MAX_SEARCHED = 120_000
"""Characters of a page that are searched for secrets."""
_SHORTEST = 6
"""Characters of the shortest secret that is highlighted."""
_SECRETS, _MARKS = 500, 500
"""Secrets highlighted per page, and places per secret."""


class PageTexts:
    """Renders the texts of one page."""

    def __init__(self, *, renders: bool = True) -> None:
        """Create the renderer; without ``renders``, texts are shown as written instead of as Markdown."""
        self._remaining = _RENDERED if renders else 0

    def body(self, kind: str, said: str) -> Html:
        """Text of a message: ``kind`` is ``said``, ``thought``, ``call`` or ``result``."""
        if kind in ("said", "thought") and len(said) <= self._remaining:
            self._remaining -= len(said)
            return rendered(said) or code.body(kind, said)
        if kind == "call" and (diff := edit_diff(said)):
            arguments = tag("details", tag("summary", "arguments"), code.body(kind, said))
            return together((code.diff(diff), arguments))
        return code.body(kind, said)


def secrets_in(texts: Iterable[str]) -> list[str]:
    """Return the secrets in texts, the longest first, as they are written there."""
    secrets: set[str] = set()
    remaining = MAX_SEARCHED
    for each in texts:
        secrets.update(_secrets(each[:remaining]))
        remaining -= len(each)
        if remaining <= 0:
            break
    return sorted((each for each in secrets if len(each) >= _SHORTEST), key=len, reverse=True)[:_SECRETS]


@cache
def _redactor() -> Redactor:
    from chatsquash.redaction.secrets import Secrets  # which takes time to compile

    return Redactor([Secrets().find])


@lru_cache(maxsize=256)
def _secrets(said: str) -> frozenset[str]:
    """Return the secrets of a text, split into lines, since a page may show each line separately."""
    try:
        hits = _redactor().find(said)
    except UnsearchedError:
        return frozenset()
    values = {said[hit.start : hit.end] for hit in hits}
    return frozenset(line for value in values for line in re.split(r"\n|\\n", value))


def in_red(page: Html, secrets: Iterable[str]) -> Html:
    """Highlight all occurrences of secrets in the texts of HTML."""
    spans = sorted(span for each in secrets for span in islice(_spans(page, text(each)), _MARKS))
    pieces: list[Html] = []
    at = 0
    for begin, length in spans:
        if begin >= at:
            pieces += Html(page[at:begin]), tag("mark", Html(page[begin : begin - length]), class_="secret")
            at = begin - length
    return together([*pieces, Html(page[at:])])


def _spans(page: str, needle: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of a text outside of tags, with its negative length, to sort the longest first."""
    at = page.find(needle)
    while at >= 0:
        if page.rfind("<", 0, at) <= page.rfind(">", 0, at):
            yield at, -len(needle)
        at = page.find(needle, at + len(needle))
