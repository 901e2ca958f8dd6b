"""Habits of clients show in what they send, and change nothing of what was said."""

from collections import Counter

import orjson
import pytest

from tests.conftest import cases
from tests.simulator import play
from tests.simulator.canonical import squeezed
from tests.simulator.exchanges import alone, exchanges, of_kind

SEEDS = range(4)
NOTHING = "hard-side-settings"
"""A habit that shows only in side requests, of which there are none where it is played alone."""


@cases("name", "rewrite-arguments", "rewrite-ids", "rewrite-parts", "rewrite-reasoning", "rewrite-clock")
def test_a_rewrite_changes_what_is_sent_and_not_what_was_said(name):
    changed = 0
    for seed in SEEDS:
        plain, rewritten = alone(NOTHING, seed), alone(name, seed)
        pairs = list(zip(exchanges(plain), exchanges(rewritten), strict=True))
        changed += sum(orjson.dumps(one.request) != orjson.dumps(two.request) for one, two in pairs)
        assert all(one.response == two.response for one, two in pairs)
        assert [reply.kind for reply in plain.truth.replies] == [reply.kind for reply in rewritten.truth.replies]
        (one,), (two,) = plain.truth.conversations.values(), rewritten.truth.conversations.values()
        assert one.messages[1:] == two.messages[1:]
    assert changed > len(SEEDS)


@pytest.mark.parametrize("name, tagged", [("rewrite-reminders", True), ("hard-reminders", False)])
def test_reminders_come_and_go(name, tagged):
    mark = "<system-reminder>" if tagged else "Note:"
    counts = Counter()
    for seed in range(12):
        held = [mark in each.asked for each in exchanges(alone(name, seed))]
        counts[held[0], held[-1]] += 1
        assert any(held)
    assert set(counts) == {(True, True), (True, False), (False, True)}


def test_short_texts_are_repeated():
    said = Counter(
        message.canonical.text
        for seed in SEEDS
        for each in alone("hard-short-texts", seed).truth.conversations.values()
        for message in each.messages
    )
    assert len([text for text, count in said.items() if count > 2 and len(text) < 14]) > 2


def hard_and_easy(habit, event, seed):
    return [exchanges(play(seed, only=names)) for names in ((event,), (habit, event))]


def test_a_summary_is_respelled():
    for seed in SEEDS:
        _, logged = hard_and_easy("hard-summary", "compact-transcript", seed)
        (asked,), begun = of_kind(logged, "side"), of_kind(logged, "compacted")[0]
        assert asked.answer not in begun.asked
        assert asked.answer[:40] in begun.asked


def test_a_prompt_is_wrapped():
    for seed in SEEDS:
        _, logged = hard_and_easy("hard-wrapped-prompt", "subagent", seed)
        first = of_kind(logged, "subagent")[0]
        asked = squeezed("Another agent asks you this:")
        assert asked in first.asked


def test_side_requests_have_the_settings_of_their_conversation():
    for seed in SEEDS:
        easy, hard = hard_and_easy("hard-side-settings", "side-topic", seed)
        for logged, same in ((easy, False), (hard, True)):
            (asked,) = of_kind(logged, "side")
            assert (asked.request["model"] == logged[0].request["model"]) is same
            assert (asked.request.get("tools") == logged[0].request["tools"]) is same
