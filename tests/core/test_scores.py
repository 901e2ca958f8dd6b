"""Scores: which values are read, and which of them are a verdict."""

import pytest

from chatsquash.core.jsonio import Rounded
from chatsquash.core.scores import (
    MAX_LENGTH,
    MAX_SCORES,
    Score,
    Verdict,
    by_name,
    is_good_score,
    label_weight,
    read_score,
    read_scores,
    verdict,
)

UP, DOWN = Score("thumbs", True), Score("user-feedback", False)


@pytest.mark.parametrize(
    ("name", "value", "expected", "why"),
    [
        ("quality", 0.5, 0.5, "a number"),
        ("quality", 3, 3, "an integer"),
        ("quality", 1 << 60, float(1 << 60), "an integer that JSON numbers cannot express exactly"),
        ("quality", True, True, "a boolean"),
        ("quality", "good", "good", "a label"),
        ("quality", Rounded(0.1), 0.1, "a number with more digits than a float"),
        ("quality", 10**400, None, "too large for a float"),
        ("quality", float("nan"), None, "not a number"),
        ("quality", float("-inf"), None, "not finite"),
        ("quality", None, None, "null"),
        ("quality", ["good"], None, "a list"),
        ("quality", "", None, "an empty label"),
        ("quality", "I liked it\nbut", None, "free text"),
        ("quality", "x" * (MAX_LENGTH + 1), None, "a long text"),
        ("", 1, None, "no name"),
        (7, 1, None, "a name that is not a string"),
        ("n" * (MAX_LENGTH + 1), 1, None, "a long name"),
    ],
)
def test_a_score_is_read_if_it_is_a_number_a_boolean_or_a_label(name, value, expected, why):
    score = read_score(name, value, "test")
    assert (score and score.value) == expected, why
    assert score is None or type(score.value) in (bool, int, float, str), why


def test_the_number_of_scores_is_limited():
    assert len(read_scores([(f"s{number}", number) for number in range(10 * MAX_SCORES)], "")) == MAX_SCORES


def test_the_first_of_equal_names_counts():
    assert by_name([Score("a", 1), Score("b", "x"), Score("a", 0)]) == {"a": 1, "b": "x"}


@pytest.mark.parametrize(
    ("label", "weight"),
    [
        *(("good", 1), ("Thumbs up", 1), ("thumbs-up", 1), ("TRUE", 1), ("accepted", 1)),
        *(("bad", 0), ("thumbs_down", 0), ("False", 0), (" down ", 0), ("negative", 0)),
        *(("meh", None), ("", None), ("goodish", None)),
    ],
)
def test_labels_have_a_weight(label, weight):
    assert label_weight(label) == weight


@pytest.mark.parametrize(
    ("score", "expected", "why"),
    [
        (UP, True, "a boolean of feedback"),
        (DOWN, False, "spelled with a hyphen"),
        (Score("helicone-score-feedback", 1), True, "a number of thumbs"),
        (Score("thumbs", -1), False, "a number of thumbs"),
        (Score("thumbs", 0.5), None, "thumbs are not in between"),
        (Score("rating", 1), None, "the worst of five stars, or the best of two"),
        (Score("toxic", True), None, "true is bad here"),
        (Score("toxicity", "negative"), None, "negative is good here"),
        (Score("sentiment", "positive"), None, "of the text and not of its quality"),
        (Score("user_feedback", "positive"), True, "of the reply"),
        (Score("judge", "incorrect"), False, "clear under any name"),
        (Score("helpfulness", 0.9), None, "the scale is unknown"),
    ],
)
def test_only_a_score_with_a_certain_meaning_is_a_verdict(score, expected, why):
    assert is_good_score(score) is expected, why


@pytest.mark.parametrize(
    ("evidence", "expected", "why"),
    [
        ({"weight": 0.0, "scores": [UP]}, Verdict(False, "--loss-labels"), "labels come first"),
        ({"weight": 0.3}, Verdict(True, "--loss-labels"), "any weight above 0 is good"),
        ({"scores": [UP], "is_denied": True}, Verdict(True, "score thumbs"), "scores come before denials"),
        ({"scores": [UP, DOWN], "last_user": "thanks"}, None, "contradicting scores decide nothing"),
        ({"scores": [Score("length", 3)], "is_denied": True}, Verdict(False, "denied"), "other scores do not count"),
        ({"last_user": "thanks"}, Verdict(True, "last_user thanks"), "thanks are good"),
        ({"last_user": "correction"}, Verdict(False, "last_user correction"), "a correction is bad"),
        ({"last_user": "unknown"}, None, "no evidence"),
    ],
)
def test_the_first_evidence_decides(evidence, expected, why):
    assert verdict(evidence.pop("weight", None), **evidence) == expected, why
