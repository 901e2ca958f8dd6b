"""Each behaviour does to a log what its name says."""

from collections import Counter
from itertools import pairwise

import orjson
import pytest

from tests.conftest import cases
from tests.simulator import play
from tests.simulator.behaviours import behaviours
from tests.simulator.canonical import squeezed
from tests.simulator.exchanges import alone, arguments, exchanges, last_text, of_kind, told
from tests.simulator.nodes import CLEARED
from tests.simulator.test_more_behaviours import MORE

SEEDS = range(4)


def left(logged):
    """Exchanges whose reply the next request lacks, though it goes on from an earlier one."""
    for at, (before, after) in enumerate(pairwise(logged)):
        if before.answer not in after.asked and any(each.answer in after.asked for each in logged[:at]):
            yield at, before


def asked_again(logged):
    """Pairs of exchanges with the same request."""
    return [(one, two) for one, two in pairwise(logged) if one.asked == two.asked]


def later(logged, exchange):
    return [each for each in logged if each.at > exchange.at]


def goes_back(logged, truth):
    return any(left(logged)) and of_kind(logged, "branch")


def taken_up_again(logged, truth):
    return any(each.answer in more.asked for at, each in left(logged) for more in later(logged, logged[at + 1]))


def regenerated(logged, truth):
    return any(one.answer != two.answer and one.reply.kind == "branch" for one, two in asked_again(logged))


def response_id(exchange):
    return exchange.response.get("id") or exchange.response.get("responseId")


def same_words(logged, truth):
    pairs = asked_again(logged)
    named = {response_id(one) for pair in pairs for one in pair} != {None}
    alike = [one for one, two in pairs if one.answer == two.answer and response_id(one) != response_id(two)]
    return not named if not alike else alike[0].reply.kind == "branch" and alike[0].reply.conversation is None


def broken_then_asked_again(logged, truth):
    pairs = [(one, two) for one, two in asked_again(logged) if one.reply.kind == "retry"]
    return pairs and all(not one.reply.whole and unfinished(one) for one, _ in pairs)


def unfinished(exchange):
    choice = (exchange.response.get("choices") or exchange.response.get("candidates") or [{}])[0]
    ended = exchange.response.get("stop_reason") or choice.get("finish_reason") or choice.get("finishReason")
    return ended is None and exchange.response.get("status") in (None, "in_progress")


def broken_and_held(logged, truth):
    broken = [each for each in logged if unfinished(each)]
    return broken and all(any(each.answer in more.asked for more in later(logged, each)) for each in broken)


def broken_and_left(logged, truth):
    broken = [each for each in logged if unfinished(each)]
    return broken and not any(each.answer in more.asked for each in broken for more in later(logged, each))


def cut_at_its_limit(logged, truth):
    return any(not each.reply.whole and not unfinished(each) for each in logged)


def line_twice(logged, truth):
    pairs = [(one, two) for one, two in asked_again(logged) if one.response == two.response]
    return pairs and all((one.reply.kind, two.reply.kind) == ("retry", "main") for one, two in pairs)


def summary(logged):
    (asked,) = of_kind(logged, "side")
    begun = of_kind(logged, "compacted")[0]
    assert asked.answer in begun.asked
    return asked, begun


def summarised_inside(logged, truth):
    asked, begun = summary(logged)
    return asked.system == logged[0].system == begun.system and logged[0].answer in asked.asked


def summarised_under_another_system(logged, truth):
    asked, begun = summary(logged)
    return asked.system != begun.system and len(asked.messages) > 3 and logged[0].answer in asked.asked


def summarised_as_a_text(logged, truth):
    asked, begun = summary(logged)
    users = [each for each in asked.messages if each["role"] != "system"]
    return asked.system != begun.system and len(users) == 1 and logged[0].answer in asked.asked


def emptied(logged, truth):
    gone = [each for each in logged if squeezed(CLEARED) in each.asked]
    kept = [message for each in truth.conversations.values() for message in each.messages]
    shown = any(message.canonical.text == squeezed(CLEARED) for message in kept)
    return gone and not shown and all(each.reply.restored for each in gone)


def delegated(logged, truth, least=1):
    begun = [each for each in truth.conversations.values() if each.kind == "subagent"]
    for each in begun:
        (end,) = [one for one in logged if (one.file, one.reply.line) == each.end]
        assert any(end.answer in more.asked for more in later(logged, end) if more.reply.conversation == each.parent)
        calls = [call for message in truth.conversations[each.parent].messages for call in message.canonical.calls]
        first = next(message.canonical.text for message in each.messages if message.canonical.role == "user")
        assert first in {text for call in calls for text in arguments(call)}
    return len(begun) >= least


def nested(logged, truth):
    parents = [each.parent for each in truth.conversations.values() if each.kind == "subagent"]
    return delegated(logged, truth, 2) and any(truth.conversations[each].kind == "subagent" for each in parents)


def aside(logged, truth):
    (asked,) = of_kind(logged, "side")
    assert not any(asked.answer in more.asked for more in later(logged, asked) if len(asked.answer) > 20)
    return truth.conversations[truth.conversations[asked.reply.conversation].parent].kind == "main"


def about_the_first_prompt(logged, truth):
    (asked,) = of_kind(logged, "side")
    return aside(logged, truth) and last_text(asked) in logged[0].asked


def limit_of_one(logged, truth):
    (asked,) = of_kind(logged, "side")
    settings = {**asked.request, **asked.request.get("generationConfig", {}), "temperature": None}
    return aside(logged, truth) and 1 in settings.values()


def examples(logged, truth):
    return {"assistant", "model"} & {each["role"] for each in logged[0].messages if "role" in each}


def names(logged):
    return {each.session_id for each in logged}


def a_file_each(logged, truth):
    return len({each.file for each in logged}) == len(logged)


def one_file(logged, truth):
    return {each.file for each in logged} == {"proxy/requests.jsonl"} and names(logged) == {None}


def rollouts(logged, truth):
    first = {each.messages[:2] for each in truth.conversations.values()}
    return one_file(logged, truth) and len(truth.sessions) == len(truth.conversations) > 1 and len(first) == 1


def files_go_on(logged, truth, ids=1):
    """The first request in each further file holds a reply of the file before."""
    files = list(dict.fromkeys(each.file for each in logged))
    second = next(each for each in logged if each.file == files[1])
    return len(files) == 2 and len(names(logged)) == ids and logged[0].answer in second.asked


def begins_anew(logged, truth):
    ends = [each for each in truth.conversations.values() if each.kind == "main"]
    return len(ends) == 2 and all(each.parent is None for each in ends)


def unused(logged, truth):
    asked = of_kind(logged, "side")
    return asked and not any(one.answer in more.asked for one in asked for more in logged)


def slides(logged, truth):
    last = logged[-1]
    (main,) = truth.conversations.values()
    return logged[0].answer not in last.asked and last.reply.restored and len(main.messages) > len(last.messages) + 2


def replaced(logged, truth):
    prompts = list(dict.fromkeys(each.system for each in logged))
    return len(prompts) == 2 and len(truth.conversations) == 1 and sum(each.system == prompts[1] for each in logged) > 1


# Requests that a client sends with every turn


def follows_each_turn(logged, truth):
    """The same text ends several requests, of which the last line is one, and nothing continues from them."""
    asked = of_kind(logged, "side")
    assert len(asked) >= 3
    assert len({last_text(each) for each in asked}) == 1
    return logged[-1] is asked[-1] and not any(continues(each, more) for each in asked for more in logged)


def continues(exchange, later):
    return last_text(exchange) + exchange.answer in later.asked


def has_the_settings(logged):
    return all(each.request.get("tools") == logged[0].request["tools"] for each in of_kind(logged, "side"))


def precedes_each_turn(logged, truth):
    asked = of_kind(logged, "side")
    return len(asked) >= 3 and all(last_text(each) in logged[each_at(logged, each) + 1].asked for each in asked)


def each_at(logged, exchange):
    return next(at for at, each in enumerate(logged) if each is exchange)


# Beginnings


def title_first(logged, truth):
    return logged[0].reply.kind == "side" and last_text(logged[0]) in logged[1].asked


def one_turn(logged, truth):
    prompt = last_text(of_kind(logged, "side")[0])
    return (
        len(truth.conversations) == 2
        and not any(each.answer in more.asked for each in of_kind(logged, "side") for more in logged)
        and all(prompt in each.asked for each in logged)
    )


def warm_ups(logged, truth):
    asked = of_kind(logged, "side")
    return [last_text(each) for each in asked] == ["Warmup"] * len(asked) and len(asked) > 1 and logged[0] is asked[0]


def first_regenerated(logged, truth):
    kinds = [each.reply.kind for each in logged[:3]]
    return (
        kinds == ["branch", "side", "main"]
        and logged[0].asked == logged[2].asked
        and logged[2].answer in logged[3].asked
    )


# Summaries


def prompts_and_summary(logged, truth):
    begun = summary(logged)[1]
    return all(last_text(each) in begun.asked for each in logged[:1]) and logged[0].answer not in begun.asked


def two_summaries(logged, truth, both):
    first, second = of_kind(logged, "side")
    begun = logged[each_at(logged, second) + 1]
    assert second.answer in begun.asked
    assert sum(each.kind == "compacted" for each in truth.conversations.values()) == 2
    return both == (first.answer in begun.asked)


def nearly_equal(logged, truth):
    first, second = (each.answer for each in of_kind(logged, "side"))
    return two_summaries(logged, truth, both=False) and first[: len(first) // 2] == second[: len(first) // 2]


def summary_as_an_answer(logged, truth):
    asked, begun = summary(logged)
    texts = [
        (each["role"], told(each.get("content") or each.get("parts"))) for each in begun.messages if "role" in each
    ]
    return any(role in ("assistant", "model") and text == asked.answer for role, text in texts)


def checked_summary(logged, truth):
    first, second = of_kind(logged, "side")
    return first.answer in second.asked and second.answer in of_kind(logged, "compacted")[0].asked


def handed_off(logged, truth):
    asked, begun = summary(logged)
    return asked.session_id != begun.session_id and asked.file != begun.file


# Sub-agents


def with_its_own_id(logged, truth):
    begun = of_kind(logged, "subagent")
    return delegated(logged, truth) and all(each.session_id != logged[0].session_id != each.file for each in begun)


def forked(logged, truth):
    (*_, asked) = [each for each in logged if each.at < of_kind(logged, "subagent")[0].at]
    begun = of_kind(logged, "subagent")
    assert all(logged[0].answer in each.asked and each.system == logged[0].system for each in begun)
    return any(last_text(begun[0]).endswith(text) for call in asked.reply.canonical.calls for text in arguments(call))


# Truncated streams, choices, results


def prefilled(logged, truth):
    (broken,) = of_kind(logged, "retry")
    again = logged[each_at(logged, broken) + 1]
    return last_text(again) == broken.answer and again.answer.startswith(broken.answer)


def item_kept(logged, truth):
    broken = next(each for each in logged if unfinished(each))
    return broken.answer in logged[each_at(logged, broken) + 1].asked


def last_choice(logged, truth):
    several = [each for each in logged if len(each.response.get("choices") or each.response.get("candidates")) > 1]
    return several and all(each.answer in logged[each_at(logged, each) + 1].asked for each in several) and truth.choices


def result_twice(logged, truth):
    texts = [text for texts in truth.results.values() for text in texts]
    return any(logged[-1].asked.count(text) == 2 for text in texts)


def emptied_and_left(logged, truth):
    gone = [squeezed(CLEARED) in each.asked for each in logged]
    return any(gone) and not gone[-1] and of_kind(logged, "branch")


def noted(logged, truth):
    prompts = [each.canonical.text for each in next(iter(truth.conversations.values())).messages]
    return prompts.count("continue") > 1


def short_command(logged, truth):
    (asked,) = of_kind(logged, "side")
    before = logged[each_at(logged, asked) - 1].reply.canonical.calls
    texts = [text for call in before for text in arguments(call) if text in last_text(asked)]
    return texts and len(max(texts, key=len)) < 90


EVENTS = {
    "broken-item": item_kept,
    "broken-prefill": prefilled,
    "choices": last_choice,
    "command-classified": short_command,
    "delegate-forked": forked,
    "delegate-own-id": with_its_own_id,
    "each-turn-memory": follows_each_turn,
    "each-turn-recap": follows_each_turn,
    "each-turn-speaker": follows_each_turn,
    "each-turn-suggestion": lambda logged, truth: follows_each_turn(logged, truth) and has_the_settings(logged),
    "each-turn-topic": precedes_each_turn,
    "note-on-prompt": noted,
    "one-turn-title": one_turn,
    "first-regenerated": first_regenerated,
    "resume-repeats": result_twice,
    "emptied-then-rewind": emptied_and_left,
    "summary-again": nearly_equal,
    "summary-answer": summary_as_an_answer,
    "summary-checked": checked_summary,
    "summary-hand-off": handed_off,
    "summary-keeps-prompts": prompts_and_summary,
    "summary-rolling": lambda logged, truth: two_summaries(logged, truth, both=True),
    "title-before": title_first,
    "warm-up-before": warm_ups,
    "broken-kept": broken_and_held,
    "broken-last": broken_and_left,
    "broken-retried": broken_then_asked_again,
    "compact-inside": summarised_inside,
    "compact-system": summarised_under_another_system,
    "compact-transcript": summarised_as_a_text,
    "edit": goes_back,
    "few-shot": examples,
    "file-each-with-ids": lambda logged, truth: a_file_each(logged, truth) and len(names(logged)) == 1,
    "file-each-without-ids": lambda logged, truth: a_file_each(logged, truth) and names(logged) == {None},
    "hard-first-edit": begins_anew,
    "hard-system": replaced,
    "hard-unused-summary": unused,
    "hard-window": slides,
    "logged-twice": line_twice,
    "micro-compact": emptied,
    "regenerate": regenerated,
    "regenerate-same-words": same_words,
    "resume-new-id": lambda logged, truth: files_go_on(logged, truth, 2),
    "resume-old-id": files_go_on,
    "return": taken_up_again,
    "rewind": goes_back,
    "rotation": files_go_on,
    "shared-file": one_file,
    "shared-file-equal-beginnings": rollouts,
    "side-classification": aside,
    "side-probe": limit_of_one,
    "side-title": about_the_first_prompt,
    "side-topic": aside,
    "side-warm-up": limit_of_one,
    "subagent": delegated,
    "subagent-nested": nested,
    "subagent-parallel": lambda logged, truth: delegated(logged, truth, 2),
    "truncated": cut_at_its_limit,
}


@pytest.mark.parametrize("name, check", EVENTS.items(), ids=EVENTS)
def test_an_event_shows_in_the_log(name, check):
    for seed in SEEDS:
        played = alone(name, seed)
        assert check(exchanges(played), played.truth), seed


@pytest.mark.parametrize("name", [each.name for each in behaviours().values() if each.name not in EVENTS.keys() | MORE])
def test_the_rest_are_habits(name):
    assert behaviours()[name].when == "client"


def test_what_stands_after_a_compaction_is_of_several_shapes():
    shapes = Counter()
    for seed in range(40):
        played = alone("compact-transcript", seed)
        logged = exchanges(played)
        asked, begun = summary(logged)
        held = [each.answer in begun.asked for each in logged if each.at < asked.at]
        assert not held[0]
        before, after = (
            next(each for each in played.truth.conversations.values() if each.kind == kind).messages[1:]
            for kind in ("main", "compacted")
        )
        shapes["a tail"] += any(held)
        shapes["no tail"] += not any(held)
        shapes["the first task"] += before[0].canonical.text in begun.asked
        shapes["an acknowledgement"] += "Understood." in begun.asked
        shapes["a message apart"] += before[0].canonical == after[0].canonical
    assert min(shapes.values()) > 1, shapes
    assert len(shapes) == 5


# Habits of clients show in what they send, and change nothing of what was said


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
