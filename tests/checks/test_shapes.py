"""What presets and modifiers say: rows like those of ``test_log``."""

import pytest

from chatsquash.checks import shapes

ROWS = [
    (shapes.no_assistant_turn(), "no-assistant-turn", "error", "nothing to train on: check whether replies were logged"),
    (shapes.arguments_unparsable("a\n", "not valid JSON", 3), "arguments-unparsable", "error", "of 'a\\n' are not valid JSON, but"),
    (shapes.integer_too_large("18446744073709551616"), "integer-too-large", "error", "integer '18446744073709551616' exceeds"),
    (shapes.lone_surrogate("a\ud800"), "lone-surrogate", "error", "a lone surrogate in 'a\\ud800'"),
    (shapes.unpaired_call("a result has no id\x1b", 3), "unpaired-call", "error", "a result has no id\\x1b: --preset chat"),
    (shapes.media_dropped("an image\x1b", 3), "media-dropped", "error", "an image\\x1b: --media text replaces it with a"),
    (
        shapes.media_replaced({"image_url": 2}),
        "media-replaced",
        "warning",
        "media replaced by placeholders: image_url 2 (--media keep with --preset hf keeps images",
    ),
    (shapes.unpaired_call("x", 3, "do this; "), "unpaired-call", "error", "x: do this; --preset chat keeps it"),
    (shapes.unsupported_shape("x\x1b", None), "unsupported-shape", "error", "x\\x1b, which the preset does not support: --preset"),
    (shapes.shape_dropped({"reasoning": 2, "x\x1b": 1}), "shape-dropped", "warning", "does not support: reasoning 2, x\\x1b 1 ("),
    (
        shapes.user_after_result(2, 4),
        "user-after-result",
        "warning",
        "2 user messages right after a result: ms-swift deletes such records, torchtune stops",
    ),
    (shapes.unsupported_shape("x", None, "do this; "), "unsupported-shape", "error", "does not support: do this; --preset chat"),
    (shapes.shape_changed({"ids shortened": 2}), "shape-changed", "info", "changed to fit: ids shortened 2"),
    (shapes.float_rounded(["0.7"], 1), "float-rounded", "warning", "1 number that datasets rounds when loading: 0.7 ("),
    (shapes.float_rounded(["1", "2", "3", "4"], 4), "float-rounded", "warning", "4 numbers that datasets rounds when loading"),
]  # fmt: skip


@pytest.mark.parametrize("fact, code, severity, part", ROWS, ids=[f"{row[1]}: {row[3]!a}" for row in ROWS])
def test_a_finding_has_its_code_and_severity_and_says_what_and_what_to_do(fact, code, severity, part):
    assert (fact.code, fact.severity) == (code, severity)
    assert part in fact.text
    assert not fact.text.endswith(".")


def test_a_finding_names_so_many_kinds_and_no_more_of_each_than_can_be_read():
    text = shapes.shape_dropped({f"{number} {'x' * 1000}": 1 for number in range(15)}).text
    assert len(text) < 1200
    assert "3 more kinds (" in text


def test_what_cannot_be_held_stands_at_its_message():
    found = [
        shapes.arguments_unparsable("f", "not valid JSON", 3),
        shapes.unpaired_call("x", 3),
        shapes.unsupported_shape("x", 3),
        shapes.media_dropped("x", 3),
    ]
    assert [fact.at for fact in found] == [3, 3, 3, 3]
