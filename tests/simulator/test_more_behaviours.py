"""Behaviours of gateways, sub-agents and clients do to a log what their names say."""

import itertools

import orjson
import pytest

from tests.simulator import play
from tests.simulator.behaviours import behaviours
from tests.simulator.exchanges import alone, arguments, exchanges, last_text, of_kind

SEEDS = range(4)


def later(logged, exchange):
    return [each for each in logged if each.at > exchange.at]


def answers_continue(logged, kind):
    """Whether replies of a kind are in later requests."""
    return any(one.answer in more.asked for one in of_kind(logged, kind) for more in later(logged, one))


def command_and_output(played, logged):
    (asked,) = of_kind(logged, "side")
    texts = [text for each in logged for call in each.reply.canonical.calls for text in arguments(call)]
    results = [text for texts in played.truth.results.values() for text in texts]
    return any(text in last_text(asked) for text in texts) and any(text in last_text(asked) for text in results)


def is_wrapped(played, logged):
    (asked,) = of_kind(logged, "side")
    said = last_text(asked).partition("<session>")[2].partition("</session>")[0]
    return len(said) > 20 and said in logged[0].asked


def lists_prompts(played, logged):
    asked = of_kind(logged, "side")
    return len(asked) >= 3 and all(len(last_text(one)) < len(last_text(two)) for one, two in itertools.pairwise(asked))


def has_errors(played, logged):
    lines = [orjson.loads(line) for data in played.files.values() for line in data.splitlines()]
    errors = [line for line in lines if line.get("status", 200) != 200]
    return errors and len(lines) == len(logged) + len(errors) and len(logged) == len(played.truth.replies)


def is_late(played, logged):
    (late,) = of_kind(logged, "branch")
    before = [each for each in logged if each.at < late.at]
    return any(each.asked == late.asked and each.answer in before[-1].asked + before[-1].answer for each in before)


def is_queued(played, logged):
    results = [text for texts in played.truth.results.values() for text in texts]
    return any(
        not any(text in last_text(each) for text in results) and any(text in each.asked for text in results)
        for each in logged
    )


def is_forked(played, logged):
    ids = list(dict.fromkeys(each.session_id for each in logged))
    first = next(each for each in logged if each.session_id == ids[1])
    return len(ids) == 2 and of_kind(logged, "branch") and logged[0].answer in first.asked


def has_own_ids(played, logged):
    return len({each.session_id for each in logged}) == 3 and len(conversations(played, "subagent")) == 2


def conversations(played, kind):
    return [each for each in played.truth.conversations.values() if each.kind == kind]


def has_equal_prompts(played, logged):
    begun = conversations(played, "subagent")
    return len(begun) > 1 and len({each.messages[1].canonical.text for each in begun}) == 1


def is_stopped(played, logged):
    (begun,) = conversations(played, "subagent")
    return begun.messages[-1].canonical.text not in logged[-1].asked


def is_continued(played, logged):
    (begun,) = conversations(played, "subagent")
    return sum(message.canonical.role == "user" for message in begun.messages) == 2


def is_compacted(played, logged):
    (begun,) = conversations(played, "compacted")
    return played.truth.conversations[begun.parent].kind == "subagent"


def is_asked_again(played, logged):
    (broken,) = of_kind(logged, "retry")
    (asked,) = of_kind(logged, "side")
    return asked.asked == broken.asked and answers_continue(logged, "side")


def has_files(played, logged):
    begun = of_kind(logged, "compacted")[0]
    (asked,) = of_kind(logged, "side")
    return asked.answer in begun.asked and "File" in last_text(begun).partition(asked.answer)[2]


def share_a_file(played, logged):
    return {each.file for each in logged} == {"proxy/requests.jsonl"} and None not in {
        each.session_id for each in logged
    }


def have_files(played, logged):
    return {each.session_id for each in logged} == {None} and len({each.file for each in logged}) == len(
        played.truth.sessions
    )


def begin_alike(played, logged):
    first = {each.messages[:2] for each in played.truth.conversations.values()}
    return len(first) == 1 and len({each.session_id for each in logged}) == len(played.truth.sessions) > 1


MORE = {
    "command-output": command_and_output,
    "delegate-compacted": is_compacted,
    "delegate-continued": is_continued,
    "delegate-equal-prompts": has_equal_prompts,
    "delegate-failed": is_stopped,
    "delegate-own-id-nested": has_own_ids,
    "each-turn-prompts": lists_prompts,
    "equal-beginnings-with-ids": begin_alike,
    "failed-retried": has_errors,
    "files-without-ids": have_files,
    "fork-new-id": is_forked,
    "late-answer": is_late,
    "queued-prompt": is_queued,
    "shared-file-with-ids": share_a_file,
    "summary-retried": is_asked_again,
    "summary-with-files": has_files,
    "title-wrapped": is_wrapped,
}


@pytest.mark.parametrize("name, check", MORE.items(), ids=MORE)
def test_a_behaviour_shows_in_the_log(name, check):
    assert behaviours()[name].when in ("event", "layout")
    for seed in SEEDS:
        played = alone(name, seed) if seed else play(seed, only=(f"={name}",))
        assert check(played, exchanges(played)), seed
