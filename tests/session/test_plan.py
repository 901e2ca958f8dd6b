"""The order of what happens to a session: options add stages, a refusal is a value."""

import json

import pytest
from msgspec import structs

from chatsquash import Options
from chatsquash.core.accounting import Usage
from chatsquash.core.model import Conversation, Violation
from chatsquash.core.outcome import Record, Rejection
from chatsquash.records import RecordLine
from chatsquash.session.plan import plan, run_stages
from chatsquash.session.select import select
from tests.checks.rows import assistant, call, result, talk, tool, user
from tests.session.streams import entry, stream, taken

WHY, LATER = Violation("error", "why", code="unsupported-shape"), Violation("error", "later", code="lone-surrogate")


def planned(**options):
    return plan(Options(anonymize=False, **options), None)


def finished(steps, *messages, reply=None, tools=()):
    snapshot = select(stream(entry(*messages, reply=reply, tools=tools))).snapshot
    return steps.make_record(snapshot, has_private=False, source="openai_chat")


def test_a_snapshot_becomes_a_record_with_its_usage():
    made, found = finished(planned(), user(), assistant("", call()), result(), reply=assistant(), tools=[tool()])
    assert isinstance(made, Record)
    assert json.loads(made.line)["messages"] == [user(), assistant("", call()), result(), assistant()]
    assert (made.usage.calls, made.usage.tool_names, made.facts) == (1, ("grep",), None)
    assert found == []


def test_a_refusal_is_its_reason_whatever_is_noted_behind_it():
    steps = structs.replace(planned(preset="hf"), encode=lambda _: RecordLine(None, [WHY, LATER], WHY))
    made, found = finished(steps, user(), reply=assistant(), tools=[tool()])
    assert made == Rejection(WHY)
    assert found == [WHY, LATER]


def test_the_specified_record_of_a_folder_is_refused_for_what_loaders_cannot_read():
    made, found = finished(planned(format="jsonl"), user(), reply=assistant(n=2**70), tools=[tool()])
    assert isinstance(made, Rejection)
    assert (made.why.code, made.why in found) == ("integer-too-large", True)


def test_what_is_not_fit_for_a_preset_is_told_once_and_nothing_is_done_about_it():
    def never(conversation):
        raise AssertionError(conversation)

    steps = structs.replace(planned(preset="hf"), record_stages=(never,), encode=never)
    made, found = finished(steps, user(5), reply=assistant(), tools=[tool()])
    assert made.why.code == "wrong-content"
    assert [each.code for each in found].count("wrong-content") == 1
    assert found[-1] == made.why


def test_the_specified_record_holds_what_is_fit_for_no_preset():
    made, found = finished(planned(), user(5), reply=assistant(), tools=[tool()])
    assert isinstance(made, Record)
    assert [each.code for each in found] == ["wrong-content"]


def test_usage_and_checks_are_about_what_was_logged():
    made, found = finished(
        planned(system="drop", json_tool_calls=True), user(), assistant("", call("c9")), tools=[tool()]
    )
    assert made.usage == Usage(1, ("grep",), 1, 1, 1, made.usage.tools)
    assert "missing-reply" in {each.code for each in found}
    assert b"tool_calls" not in made.line


@pytest.mark.parametrize("checked", [True, False])
def test_checks_are_made_where_they_are_asked_for(checked):
    made, found = finished(planned(integrity_analysis=checked), user(), result("x", "c9"), reply=assistant())
    assert isinstance(made, Record)
    assert bool(found) == checked


def test_stages_run_one_after_the_other_and_what_they_found_is_in_their_order():
    def adding(word):
        def stage(conversation):
            return Conversation([*conversation.messages, user(word)], []), [Violation("info", word)]

        return stage

    conversation, found = run_stages([adding("a"), adding("b")], talk())
    assert conversation.messages == [user("a"), user("b")]
    assert [each.text for each in found] == ["a", "b"]


TITLE = {"role": "system", "content": "Reply with only a description in four words or less."}
FIRST = user("Here are the first few user messages:\nhi")


@pytest.mark.parametrize("cleaned", [True, False])
def test_what_cleaning_drops_is_held_to_nothing(cleaned):
    entries = stream(entry(user(), at=5), entry(TITLE, FIRST, reply=assistant("A title"), at=1, session_id="other"))
    out, session = taken(planned(cleanup_goose=cleaned).clean_entries(entries))
    assert len(out) == 2 - cleaned
    assert (session.invalid is None) == cleaned
