"""The most harmful findings of a result, each with its remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chatsquash.checks import explanations, harm
from chatsquash.core.accounting import ELSEWHERE
from chatsquash.core.model import Severity
from chatsquash.core.text import pluralize
from chatsquash.dataset.attention import more_replies
from chatsquash.dataset.omissions import option_for_more
from chatsquash.pages.html.markup import Html, tag
from chatsquash.pages.report.charts import bounded
from chatsquash.results.output import ResultFolder
from chatsquash.results.types import Counts

_MOST = 5
_REPLIES_LOST = "replies-lost"
_NEVER_TRAINED = ("reply-truncated", "stream-interrupted", "incomplete-reply")
"""Findings about replies that have loss 0 with ``--loss``."""
_SIGNS: dict[str, str] = {"error": "\u2716", "warning": "\u25b2", "info": "\u25cf"}
"""A symbol per severity, so that readers do not depend on colours."""


class Advice(NamedTuple):
    """A finding to fix."""

    severity: Severity
    code: str
    number: str
    meaning: str
    remedy: str
    """Text with options in backticks; empty if there is no remedy."""


def advice(result: ResultFolder, counts: Counts) -> list[Advice]:
    """Return the most harmful errors and warnings, in order of harm."""
    findings = [
        (severity, code, count)
        for severity, codes in counts.findings.items()
        if severity != "info"
        for code, count in codes.items()
    ]
    findings.sort(key=lambda each: (harm.rank(each[0], each[1]), -each[2], each[1]))
    return [_advice(result, counts, *each) for each in findings[:_MOST]]


def _advice(result: ResultFolder, counts: Counts, severity: Severity, code: str, count: int) -> Advice:
    meaning, remedy = explanations.meaning(code), explanations.remedy(code)
    if code == _REPLIES_LOST:
        lost_count = sum(counts.replies.lost.values()) - counts.replies.lost.get(ELSEWHERE, 0)
        replies = pluralize(counts.replies.logged, "logged reply", "logged replies")
        meaning = f"{lost_count:,} of {replies} are not in any record."
        if more_replies(result.counts, option := _option(result)):
            remedy = f"Convert with `{option}` to keep them."
    elif code in _NEVER_TRAINED and result.options.get("loss", "none") != "none":
        remedy = f"These replies are not trained on. `--drop {code}` also excludes their sessions."
    return Advice(severity, code, pluralize(count, "finding"), meaning, remedy)


def _option(result: ResultFolder) -> str:
    """Return the option that writes more replies."""
    values = {name: result.options.get(name) for name in ("conversations", "sessions_by")}
    texts = {name: value if isinstance(value, str) else None for name, value in values.items()}
    return option_for_more(texts["conversations"], texts["sessions_by"], join=bool(result.options.get("join")))


def advice_list(items: Sequence[Advice]) -> Html:
    """Render the findings to fix first."""
    if not items:
        return tag("p", "Nothing needs attention: no errors or warnings.")
    return tag("ol", *map(_item, items), class_="first")


def _item(advice: Advice) -> Html:
    return tag(
        "li",
        tag("p", label(advice.severity, advice.code, is_link=True), tag("span", f" {advice.number}", class_="quiet")),
        tag("p", *with_code(bounded(advice.meaning, _TEXT))) if advice.meaning else None,
        tag("p", *with_code(bounded(advice.remedy, _TEXT)), class_="remedy") if advice.remedy else None,
        class_="secret" if is_secret(advice.severity, advice.code) else None,
    )


_TEXT = 600


def is_secret(severity: Severity, code: str) -> bool:
    """Return whether a finding reports a secret that must not be published."""
    return harm.rank(severity, code)[0] == 0


def label(severity: Severity, code: str, *, is_link: bool = False) -> Html:
    """Render a code with the symbol and name of its severity, optionally as a link to its findings."""
    name: Html = tag("code", bounded(code))
    if is_link:
        name = tag("a", name, href=f"#{anchor(severity, code)}")
    prefix = f" secret, {severity}: " if is_secret(severity, code) else f" {severity}: "
    return tag(
        "b",
        tag("span", _SIGNS[severity], class_="sign", aria_hidden="true"),
        prefix,
        name,
        class_=f"severity-{severity}",
    )


def anchor(severity: Severity, code: str) -> str:
    """Return the id of the group of a code."""
    plain = "".join(char if char.isalnum() and char.isascii() else "-" for char in bounded(code))
    return f"c-{severity}-{plain}"


def with_code(text: str) -> list[Html | str]:
    """Split a text at backticks and render the quoted parts as code."""
    return [tag("code", part) if at % 2 else part for at, part in enumerate(text.split("`"))]
