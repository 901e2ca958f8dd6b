"""The pages that explain findings."""

from __future__ import annotations

from importlib.resources import files


def page(code: str) -> str:
    """Return the page of a code that a finding has, as Markdown."""
    return (files("chatsquash.checks") / "pages" / f"{code}.md").read_text(encoding="utf-8")


def sentence(code: str) -> str:
    """Return the sentence below the title of a page."""
    return page(code).split("\n\n")[1].replace("\n", " ")
