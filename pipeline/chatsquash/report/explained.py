"""The pages of the findings, as ``chatsquash explain`` prints them."""

from __future__ import annotations

from importlib.resources import files

from chatsquash.checks import rules
from chatsquash.errors import UsageError
from chatsquash.nearest import meant


def page(code: str) -> str:
    """The page of a finding, as Markdown; raises ``UsageError`` for a code that no finding has."""
    if code not in rules():
        hint = meant(code, rules(), "chatsquash explain lists them")
        raise UsageError(f"{code}: no finding has this code; {hint}")
    return (files("chatsquash.checks") / "pages" / f"{code}.md").read_text(encoding="utf-8")


def listed() -> str:
    """The codes of all findings, each with its severity and a sentence."""
    width = max(map(len, rules()))
    said = {code: page(code).split("\n\n")[1].replace("\n", " ") for code in rules()}
    graves = {code: "/".join(rule.severities) for code, rule in rules().items()}
    longest = max(map(len, graves.values()))
    return "\n".join(f"{code:<{width}}  {graves[code]:<{longest}}  {said[code]}" for code in sorted(rules()))
