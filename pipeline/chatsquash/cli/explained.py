"""The pages of the findings, as ``chatsquash explain`` prints them."""

from __future__ import annotations

from importlib.resources import files

from chatsquash.checks import refuse_unknown, rules


def page(code: str) -> str:
    """The page of a finding, as Markdown; raises ``UsageError`` for a code that no finding has."""
    refuse_unknown(code)
    return (files("chatsquash.checks") / "pages" / f"{code}.md").read_text(encoding="utf-8")


def listed() -> str:
    """The codes of all findings, each with its severity and a sentence."""
    width = max(map(len, rules()))
    said = {code: page(code).split("\n\n")[1].replace("\n", " ") for code in rules()}
    graves = {code: "/".join(rule.severities) for code, rule in rules().items()}
    longest = max(map(len, graves.values()))
    return "\n".join(f"{code:<{width}}  {graves[code]:<{longest}}  {said[code]}" for code in sorted(rules()))
