"""Scores that people and programs gave to logged replies, and the conditions under which they are a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

from msgspec import Struct, structs

from chatsquash.core.lazy import lazy_compile

MAX_SCORES, MAX_LENGTH = 100, 200
"""The maximum number of scores of a reply or session, and the maximum length of their names and labels."""
_MAX_INTEGER, _MAX_NUMBER = 1 << 53, 1e300
GOOD_LABELS = frozenset(
    ("good", "up", "thumbs_up", "positive", "true", "yes", "correct", "pass", "passed", "accept", "accepted", "like")
)
BAD_LABELS = frozenset(
    (
        *("bad", "down", "thumbs_down", "negative", "false", "no", "incorrect", "fail", "failed", "reject"),
        *("rejected", "dislike"),
    )
)
"""The labels of ``--loss-labels``, in lower case and with ``_`` for spaces and hyphens."""
_CLEAR_LABELS = GOOD_LABELS - {"positive", "true", "yes", "up"}, BAD_LABELS - {"negative", "false", "no", "down"}
"""The labels that are a verdict whatever the score is called. The others may be, for example, of a toxicity check."""
_THUMBS = frozenset(("thumbs", "thumb", "thumbs_up", "helicone_score_feedback"))
"""The names of scores whose numbers are only 1, and 0 or -1."""
_FEEDBACK = _THUMBS | {
    *("feedback", "user_feedback", "human_feedback", "feedback_rating", "rating", "user_rating"),
    *("correct", "is_correct", "correctness", "helpful", "is_helpful", "accepted", "passed", "resolved", "success"),
}
"""The names of scores of which ``true`` is good. Their numbers may have any scale, so these are not a verdict."""
_SEPARATOR = lazy_compile(r"[\s_.-]+")


class Score(Struct, frozen=True, array_like=True):
    """A score as logged: feedback of a user, or the result of an annotator, an evaluator or a test."""

    name: str
    value: float | bool | str
    """A finite number, a boolean, or a label of at most ``MAX_LENGTH`` characters."""
    source: str = ""
    """The service or format that logged it."""
    is_shared: bool = False
    """Whether it concerns a trace or session rather than a reply."""


class Verdict(Struct, frozen=True, array_like=True):
    """Whether a reply is good, with the evidence."""

    is_good: bool
    evidence: str


def read_score(name: Any, value: Any, source: str) -> Score | None:
    """Return a logged score, or ``None`` if its name or value is unusable: free text, other types, or not finite."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_LENGTH:
        return None
    if isinstance(value, str):
        return Score(name, value, source) if 0 < len(value) <= MAX_LENGTH and "\n" not in value else None
    if isinstance(value, bool):
        return Score(name, value, source)
    if isinstance(value, int) and abs(value) <= _MAX_INTEGER:
        return Score(name, value, source)
    if isinstance(value, int | float) and abs(value) < _MAX_NUMBER and isfinite(value):
        return Score(name, float(value), source)
    return None


def read_scores(values: Iterable[tuple[Any, Any]], source: str, *, is_shared: bool = False) -> tuple[Score, ...]:
    """Return the usable scores among pairs of a name and a value, at most ``MAX_SCORES``."""
    scores = (read_score(name, value, source) for name, value in values)
    usable = [structs.replace(each, is_shared=True) if is_shared else each for each in scores if each]
    return tuple(usable[:MAX_SCORES])


def by_name(scores: Iterable[Score]) -> dict[str, float | bool | str]:
    """Return the values of scores by name; the first score with a name counts."""
    values: dict[str, float | bool | str] = {}
    for each in scores:
        values.setdefault(each.name, each.value)
    return values


def normalize(label: str) -> str:
    """Return a label or the name of a score in lower case, with ``_`` for spaces, dots and hyphens."""
    return _SEPARATOR.sub("_", label.strip().lower()).strip("_")


def label_weight(label: str) -> float | None:
    """Return the weight of a label of ``--loss-labels``, 1 or 0; ``None`` for an unknown label."""
    name = normalize(label)
    return 1.0 if name in GOOD_LABELS else 0.0 if name in BAD_LABELS else None


def is_good_score(score: Score) -> bool | None:
    """Return whether a score calls its reply good or bad, or ``None`` if its meaning is not certain.

    Labels such as ``good``, ``thumbs_down`` or ``incorrect`` are clear under any name. Booleans and all labels of
    ``--loss-labels`` are clear under the names of feedback, and 1, 0 and -1 under the names of thumbs.
    """
    name, value = normalize(score.name), score.value
    if isinstance(value, str):
        label, (good, bad) = normalize(value), _CLEAR_LABELS
        if label in good or label in bad:
            return label in good
        weight = label_weight(label) if name in _FEEDBACK else None
        return None if weight is None else weight > 0
    if isinstance(value, bool):
        return value if name in _FEEDBACK else None
    return value > 0 if name in _THUMBS and value in (1, 0, -1) else None


def verdict(
    weight: float | None, scores: Iterable[Score] = (), *, is_denied: bool = False, last_user: str | None = None
) -> Verdict | None:
    """Return whether a reply is good or bad, or ``None`` if nothing says so or the scores contradict each other.

    The first evidence decides: a row of ``--loss-labels``, then clear scores, then a denial, then the user's comment.

    Args:
        weight: The weight of the reply in ``--loss-labels``; 0 is bad, and any other weight is good.
        scores: The logged scores of the reply.
        is_denied: Whether the user denied a call of the reply.
        last_user: The user's comment on the reply, a value of ``Ending.last_user``.
    """
    if weight is not None:
        return Verdict(weight > 0, "--loss-labels")
    clear = {each.name: is_good for each in scores if (is_good := is_good_score(each)) is not None}
    if clear:
        is_certain = len({*clear.values()}) == 1
        return Verdict(all(clear.values()), f"score {', '.join(sorted(clear))}") if is_certain else None
    if is_denied:
        return Verdict(False, "denied")
    if last_user in ("thanks", "complaint", "correction"):
        return Verdict(last_user == "thanks", f"last_user {last_user}")
    return None
