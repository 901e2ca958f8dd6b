"""Read the pages of ``chatsquash explain``: the entire page, its first paragraph, and the first remedy."""

from __future__ import annotations

from functools import cache

from chatsquash.checks.registry import RULES
from chatsquash.core.lazy import lazy_compile

_SENTENCE = lazy_compile(r"[.:] (?=[A-Z`])")
_TO_DO = "## What to do"


@cache
def page(code: str) -> str:
    """Return the page of a finding as Markdown, or an empty string for an unknown code."""
    rule = next((rule for rule in RULES if rule.code == code), None)
    if rule is None:
        return ""
    from importlib.resources import files  # not needed by runs

    # A rule in an installed preset has no file, so its docstring is used.
    file = files("chatsquash.checks") / "pages" / f"{code}.md"
    return file.read_text(encoding="utf-8") if file.is_file() else f"# {code}\n\n{rule.doc}\n"


def meaning(code: str) -> str:
    """Return the meaning of a finding: the first paragraph of its page."""
    return page(code).partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")


def remedy(code: str) -> str:
    """Return the remedy for a finding: the first sentence that mentions an option, or else the first sentence."""
    advice = page(code).partition(_TO_DO)[2].strip().partition("\n\n")[0].replace("\n", " ")
    sentences = [f"{each.rstrip('.')}." for each in _SENTENCE.split(advice) if each]
    return next((each for each in sentences if "`--" in each), next(iter(sentences), ""))
