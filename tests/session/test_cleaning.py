"""The four cleaning rules, one table each; what must not change comes first."""

import copy

import pytest

from chatsquash import Options
from chatsquash.core.blocks import Other, Text, Turn
from chatsquash.core.chat import PRIVATE
from chatsquash.core.edits import replay
from chatsquash.session import cleaning
from chatsquash.session.cleaning import clean
from chatsquash.session.cleaning.goose import SYSTEM_PROMPT
from tests.checks.rows import assistant, call, part, result, user
from tests.conftest import cases
from tests.session.streams import Cleaned, entry, stream, taken

INFO = "<info-msg>It is 10:00</info-msg>"
GOOSE = "You are a general-purpose AI agent called goose, created by Block."
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
NEXT = assistant("next")


def system(content):
    return {"role": "system", "content": content}


def last_cleaned(*messages, reply=None):
    """What cleaning makes of a session in which the messages came one by one: the last entry, if it is left."""
    growing = [entry(*messages[:length]) for length in range(1, len(messages))]
    out, _ = taken(clean(stream(*growing, entry(*messages, reply=reply))))
    return out[-1] if out and out[-1].line == len(growing) + 1 else None


STAYS = [
    ("a: other text after the element", [user(INFO + " What now?")]),
    ("a: other text before the element", [user("Note: " + INFO)]),
    ("a: text between two elements", [user(INFO + " and " + INFO)]),
    ("a: text after two elements", [user(INFO + INFO + ".")]),
    ("a: an element that is not closed", [user("<info-msg>It is 10:00")]),
    ("a: a second element that is not closed", [user(INFO + "<info-msg>It is 10:01")]),
    ("a: a closing tag too many", [user(INFO + "</info-msg>")]),
    ("a: an element within an element leaves a closing tag", [user("<info-msg>a<info-msg>b</info-msg></info-msg>")]),
    ("a: only a closing tag", [user("</info-msg>")]),
    ("a: a tag in another case", [user("<INFO-MSG>x</INFO-MSG>")]),
    ("a: a tag with an attribute", [user('<info-msg id="1">x</info-msg>')]),
    ("a: no text", [user("")]),
    ("a: white space only", [user(" \n")]),
    ("a: an empty list", [user([])]),
    ("a: null content", [user(None)]),
    ("a: missing content", [{"role": "user"}]),
    ("a: content that is no text", [user({"text": INFO})]),
    ("a: an image beside the element", [user([part(INFO), IMAGE])]),
    ("a: an image between two elements", [user([part(INFO), IMAGE, part(INFO)])]),
    ("a: text parts that say more than the element", [user([part(INFO), part("What now?")])]),
    ("a: the role system", [system(INFO)]),
    ("a: the role developer", [{"role": "developer", "content": INFO}]),
    ("a: the role assistant", [assistant(INFO)]),
    ("a: the role tool", [result(INFO)]),
    ("b: the role developer, which is normalised later", [{"role": "developer", "content": GOOSE}]),
    ("b: the role user", [user(GOOSE)]),
    ("b: the role assistant", [assistant(GOOSE)]),
    ("b: another agent", [system("You are a general-purpose AI agent called duck.")]),
    ("b: a long s in the name", [system("a general-purpose AI agent called goo\u017fe")]),
    ("b: words between", [system("a general-purpose AI agent that is called goose")]),
    ("b: no white space where some should be", [system("a general-purposeAI agent called goose")]),
    ("b: the sentence cut by an image is joined, cut by another role is not", [system("a general-purpose AI"), user("agent called goose")]),
    ("b: null content", [system(None)]),
    ("b: the sentence in another field", [{**system("x"), "name": GOOSE}]),
    ("c: the next message is the user's", [assistant(""), user()]),
    ("c: the next message is a tool's", [assistant(""), result()]),
    ("c: there is no next message", [user(), assistant("")]),
    ("c: an assistant with text", [assistant("a"), NEXT]),
    ("c: null content is not text", [assistant(None), NEXT]),
    ("c: missing content is not text", [{"role": "assistant"}, NEXT]),
    ("c: content that is neither text nor list", [assistant({}), NEXT]),
    ("c: a number as content", [assistant(0), NEXT]),
    ("c: tool calls", [assistant("", call()), NEXT]),
    ("c: a tool call id", [assistant("", tool_call_id="c1"), NEXT]),
    ("c: a legacy call", [assistant("", function_call={"name": "grep"}), NEXT]),
    ("c: reasoning_content", [assistant("", reasoning_content="hm"), NEXT]),
    ("c: reasoning", [assistant("", reasoning="hm"), NEXT]),
    ("c: reasoning_details", [assistant("", reasoning_details=[{"text": "hm"}]), NEXT]),
    ("c: thinking", [assistant("", thinking="hm"), NEXT]),
    ("c: thinking_blocks", [assistant("", thinking_blocks=[{"signature": "x"}]), NEXT]),
    ("c: a refusal", [assistant("", refusal="I will not"), NEXT]),
    ("c: audio", [assistant("", audio={"id": "a1"}), NEXT]),
    ("c: an image", [assistant([IMAGE]), NEXT]),
    ("c: an image beside empty text", [assistant([part(""), IMAGE]), NEXT]),
    ("c: a part that is no text part", [assistant([{"type": "thinking", "thinking": "hm"}]), NEXT]),
    ("c: a null part", [assistant([None]), NEXT]),
    ("c: an empty user before an assistant", [user(""), NEXT]),
    ("c: an empty tool result before an assistant", [result(""), NEXT]),
    ("c: an empty system message before an assistant", [system(""), NEXT]),
]  # fmt: skip

CHANGES = [
    ("a: one element", [user(INFO), user()], [user()], Cleaned(1, 0, 0)),
    ("a: an empty element", [user("<info-msg></info-msg>"), user()], [user()], Cleaned(1, 0, 0)),
    ("a: white space around", [user(f"\n {INFO}\t\u00a0"), user()], [user()], Cleaned(1, 0, 0)),
    ("a: several elements with white space between", [user(f"{INFO}\n\n{INFO} {INFO}")], [], Cleaned(1, 0, 0)),
    ("a: several elements with nothing between", [user(INFO + INFO)], [], Cleaned(1, 0, 0)),
    ("a: line feeds and other tags inside", [user("<info-msg>\n<b>x</b>\n</info-msg>")], [], Cleaned(1, 0, 0)),
    ("a: an opening tag inside", [user("<info-msg>a <info-msg> b</info-msg>")], [], Cleaned(1, 0, 0)),
    ("a: a content list of text parts", [user([part(INFO), part("\n" + INFO)])], [], Cleaned(1, 0, 0)),
    ("a: an element that begins in one part and ends in the next", [user([part("<info-"), part("msg>x</info-msg>")])], [], Cleaned(1, 0, 0)),
    ("a: parts that are bare strings", [user([INFO, " "])], [], Cleaned(1, 0, 0)),
    ("a: wherever they stand", [user(INFO), user("a"), user(INFO), assistant(), user(INFO)], [user("a"), assistant()], Cleaned(3, 0, 0)),
    ("b: the sentence", [system(GOOSE)], [system(SYSTEM_PROMPT)], Cleaned(0, 1, 0)),
    ("b: the sentence amid other text, all of which goes", [system(f"Hello.\n{GOOSE}\nBe kind.")], [system(SYSTEM_PROMPT)], Cleaned(0, 1, 0)),
    ("b: any case", [system("A GENERAL-Purpose ai AGENT Called GOOSE")], [system(SYSTEM_PROMPT)], Cleaned(0, 1, 0)),
    ("b: behind another purpose", [system("a dual-purpose, all-PURPOSE, general-purpoSE AI agent called goose")], [system(SYSTEM_PROMPT)], Cleaned(0, 1, 0)),
    ("b: any run of white space", [system("general-purpose\n  AI\tagent \r\n called\u00a0goose")], [system(SYSTEM_PROMPT)], Cleaned(0, 1, 0)),
    ("b: within a longer word", [system("xgeneral-purpose AI agent called gooseberry")], [system(SYSTEM_PROMPT)], Cleaned(0, 1, 0)),
    ("b: a content list", [system([part("a general-purpose AI "), part("agent called goose")])], [system(SYSTEM_PROMPT)], Cleaned(0, 1, 0)),
    ("b: other fields and their places stay", [{"content": GOOSE, "name": "n", "role": "system"}], [{"content": SYSTEM_PROMPT, "name": "n", "role": "system"}], Cleaned(0, 1, 0)),
    ("b: every system message, not only the first", [system(GOOSE), user(), system(GOOSE)], [system(SYSTEM_PROMPT), user(), system(SYSTEM_PROMPT)], Cleaned(0, 2, 0)),
    ("c: empty text", [assistant(""), NEXT], [NEXT], Cleaned(0, 0, 1)),
    ("c: white space", [assistant(" \n\u00a0"), NEXT], [NEXT], Cleaned(0, 0, 1)),
    ("c: an empty list", [assistant([]), NEXT], [NEXT], Cleaned(0, 0, 1)),
    ("c: a list of empty text parts", [assistant([part(""), " ", part("\n")]), NEXT], [NEXT], Cleaned(0, 0, 1)),
    ("c: an empty list of calls is no call", [assistant("", tool_calls=[]), NEXT], [NEXT], Cleaned(0, 0, 1)),
    ("c: null and empty fields are nothing", [assistant("", refusal=None, audio=None, reasoning="", thinking_blocks=[]), NEXT], [NEXT], Cleaned(0, 0, 1)),
    ("c: fields that say nothing do not count", [assistant("", name="n", cache_control={"type": "ephemeral"}), NEXT], [NEXT], Cleaned(0, 0, 1)),
    ("c: three in a row, of which the last is followed by nobody", [assistant("")] * 3, [assistant("")], Cleaned(0, 0, 2)),
    ("c: the next message is itself empty and stays", [assistant(""), assistant(" "), user()], [assistant(" "), user()], Cleaned(0, 0, 1)),
    ("c: the next message is the next after rule a", [assistant(""), user(INFO), user(INFO), NEXT], [NEXT], Cleaned(2, 0, 1)),
    ("c: after rule a nobody may be left", [assistant(""), user(INFO)], [assistant("")], Cleaned(1, 0, 0)),
    ("c: after rule a the user may be next", [assistant(""), user(INFO), user()], [assistant(""), user()], Cleaned(1, 0, 0)),
    ("all three at once", [system(GOOSE), user(INFO), user(), assistant(""), NEXT], [system(SYSTEM_PROMPT), user(), NEXT], Cleaned(1, 1, 1)),
    ("nothing may be left", [user(INFO), user(INFO)], [], Cleaned(2, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("sentence, messages", STAYS, ids=[row[0] for row in STAYS])
def test_cleaning_leaves_alone(sentence, messages):
    before = copy.deepcopy(messages)
    out = last_cleaned(*messages)
    assert out.messages == before
    assert Cleaned(**out.cleanup_counts) == Cleaned()


@pytest.mark.parametrize("sentence, messages, expected, counts", CHANGES, ids=[row[0] for row in CHANGES])
def test_cleaning_takes_out(sentence, messages, expected, counts):
    before = copy.deepcopy(messages)
    out = last_cleaned(*messages)
    assert out.messages == expected
    assert [list(message) for message in out.messages] == [list(message) for message in expected]
    assert Cleaned(**out.cleanup_counts) == counts
    assert messages == before, "what the reader shares between entries is never changed"


@pytest.mark.parametrize(
    "sentence, messages", [row[:2] for row in [*STAYS, *CHANGES]], ids=[row[0] for row in [*STAYS, *CHANGES]]
)
def test_edits_of_cleaned_entries_lead_from_one_to_the_next(sentence, messages):
    entries = [entry(*messages[:stop]) for stop in [*range(len(messages) + 1), 0, len(messages)]]
    before = []
    for out in taken(clean(stream(*entries)))[0]:
        assert replay(before, out.edits) == out.messages
        before = out.messages


@pytest.mark.parametrize(
    "sentence, messages", [row[:2] for row in [*STAYS, *CHANGES]], ids=[row[0] for row in [*STAYS, *CHANGES]]
)
def test_the_reply_is_nobodys_next_message(sentence, messages):
    without = last_cleaned(*messages)
    assert last_cleaned(*messages, reply=assistant("")).messages == without.messages
    assert last_cleaned(*messages, reply=NEXT).messages == without.messages


def test_the_reply_itself_is_not_cleaned():
    for said in (assistant(""), user(INFO), system(GOOSE)):
        (out,) = clean(stream(entry(user(), reply=said)))
        assert out.reply.message == said


def test_an_entry_that_no_rule_touches_goes_on_as_it_is():
    entries = list(stream(entry(user()), entry(user(), assistant("a"), user())))
    assert all(out is each for out, each in zip(clean(iter(entries)), entries, strict=True))


def test_an_empty_assistant_comes_and_goes_with_what_follows_it():
    empty, info, said = assistant(""), user(INFO), assistant("next")
    requests = [[empty], [empty, info], [empty, info, said], [empty, info, said, empty], [empty, user()]]
    out = [each.messages for each in clean(stream(*(entry(*messages) for messages in requests)))]
    assert out == [[empty], [empty], [said], [said, empty], [empty, user()]]


# Rule d

TITLE = system("Reply with only a description in four words or less.")
FIRST = user("Here are the first few user messages:\nhi")
ANSWER = assistant("Greeting the agent")


@cases("messages, reply",
    ("another system prompt", [system("Reply with a description"), FIRST], ANSWER),
    ("a system prompt that only contains the sentence", [system("Now: " + TITLE["content"]), FIRST], ANSWER),
    ("a system prompt in another case", [system(TITLE["content"].lower()), FIRST], ANSWER),
    ("another user message", [TITLE, user("Fix the tests")], ANSWER),
    ("a user message that only contains the sentence", [TITLE, user("So: " + FIRST["content"])], ANSWER),
    ("the first message is the developer's, whose role is normalised later", [{**TITLE, "role": "developer"}, FIRST], ANSWER),
    ("the first message is the user's", [{**TITLE, "role": "user"}, FIRST], ANSWER),
    ("the second message is the assistant's", [TITLE, {**FIRST, "role": "assistant"}], ANSWER),
    ("the messages in the other order", [FIRST, TITLE], ANSWER),
    ("something between the two", [TITLE, user("hi"), FIRST], ANSWER),
    ("only one message", [TITLE], ANSWER),
    ("no messages", [], ANSWER),
    ("no reply", [TITLE, FIRST], None),
    ("a reply without words", [TITLE, FIRST], assistant(" \n")),
    ("a reply with null content", [TITLE, FIRST], assistant(None)),
    ("a reply of seven words", [TITLE, FIRST], assistant("one two three four five six seven")),
    ("a reply that only calls a tool", [TITLE, FIRST], assistant(None, call())),
    ("a reply of another role", [TITLE, FIRST], {**ANSWER, "role": "tool"}),
    ("a reply of the user's", [TITLE, FIRST], {**ANSWER, "role": "user"}),
    ("a reply of a role that differs in case", [TITLE, FIRST], {**ANSWER, "role": "Assistant"}),
    ("an info message between the two that says more", [TITLE, user(INFO + "."), FIRST], ANSWER),
    ("null content", [system(None), user(None)], ANSWER),
)  # fmt: skip
def test_an_entry_is_no_title_request_with(messages, reply):
    out, session = taken(clean(stream(entry(*messages, reply=reply))))
    assert (len(out), session.lines.dropped_entries, session.dropped) == (1, 0, {})


@cases("messages, reply",
    ("two messages and a short reply", [TITLE, FIRST], ANSWER),
    ("a reply of one word", [TITLE, FIRST], assistant("Greeting")),
    ("a reply without a role", [TITLE, FIRST], {"content": "Greeting"}),
    ("a reply of six words, however far apart", [TITLE, FIRST], assistant(" one two\nthree\tfour  five\u00a0six ")),
    ("a reply that is a content list", [TITLE, FIRST], assistant([part("Greeting the "), part("agent")])),
    ("more messages behind them", [TITLE, FIRST, user("and more"), assistant("x")], ANSWER),
    ("white space before the sentences", [system("\n " + TITLE["content"]), user("\t" + FIRST["content"])], ANSWER),
    ("content lists", [system([part("Reply with only a description "), part("in four words or less")]), user([IMAGE, part(FIRST["content"])])], ANSWER),
    ("an info message before them, which rule a drops first", [user(INFO), TITLE, user(INFO), FIRST], ANSWER),
    ("an empty assistant before them stays unless an assistant follows", [TITLE, FIRST, assistant(""), assistant("")], ANSWER),
)  # fmt: skip
def test_an_entry_is_a_title_request_with(messages, reply):
    out, session = taken(clean(stream(entry(*messages, reply=reply))))
    assert (out, session.lines.dropped_entries, session.dropped) == ([], 1, {"title_requests": 1})


def test_an_empty_assistant_between_the_two_is_dropped_before_a_title_request_is_looked_for():
    # Rule c drops it only before another assistant, so that this is no title request ...
    assert last_cleaned(TITLE, assistant(""), FIRST, reply=ANSWER) is not None
    # ... while here the second message is the user's only once rules a and c have been at work.
    assert last_cleaned(TITLE, user(INFO), FIRST, reply=ANSWER) is None


def test_entries_around_a_title_request_go_on_as_edits_of_one_another():
    first, more = user("first"), [assistant("a"), user("b")]
    out, session = taken(clean(stream(entry(first), entry(TITLE, FIRST, reply=ANSWER), entry(first, *more))))
    assert [each.line for each in out] == [1, 3]
    assert replay(out[0].messages, out[1].edits) == [first, *more]
    assert session.lines.dropped_entries == 1


# What Claude Code writes in the user's name, one table; what must not change has no counts


ECHO = "<command-name>/cost</command-name>\n<command-message>cost</command-message>\n<command-args></command-args>"
OUTPUT = "<local-command-stdout>$0.01</local-command-stdout>"
STOPPED = "[Request interrupted by user for tool use]"
REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"
APART = Turn("user", (Text(REMINDER), Other("openai", {"type": "x"}), Text("Hi.")))


ROWS = [
    ("an echo of a command", user(ECHO), None, "echoed_commands"),
    ("an echo with the message first", user("<command-message>x</command-message><command-name>/x</command-name>"), None, "echoed_commands"),
    ("an echo in a list", user([part(ECHO)]), None, "echoed_commands"),
    ("an echo and words", user(ECHO + " and more"), ...),
    ("an echo that is not closed", user("<command-name>/cost"), ...),
    ("an echo beside an image", user([part(ECHO), IMAGE]), ...),
    ("an echo by the assistant", assistant(ECHO), ...),
    ("what a command printed", user(OUTPUT), None, "local_outputs"),
    ("what it complained of", user("<local-command-stderr>no</local-command-stderr>\n"), None, "local_outputs"),
    ("the warning in front of it", user("<local-command-caveat>Caveat: x</local-command-caveat>"), None, "local_outputs"),
    ("the warning of older versions", user("Caveat: The messages below were generated by the user while running local commands. DO NOT respond."), None, "local_outputs"),
    ("a warning of the user's", user("Caveat: the messages below are long"), ...),
    ("an output and a question", user(OUTPUT + " Why?"), ...),
    ("bash mode, which the model answers", user("<bash-stdout>x</bash-stdout>"), ...),
    ("an interruption", user("[Request interrupted by user]"), None, "interruptions"),
    ("an interruption of a tool", user([part(STOPPED)]), None, "interruptions"),
    ("an interruption that is quoted", user(f"What is {STOPPED}?"), ...),
    ("an interruption as a result", result(STOPPED), ...),
    ("a reminder", user(REMINDER), None, "reminders"),
    ("two reminders", user(f"{REMINDER}\n{REMINDER} "), None, "reminders"),
    ("a reminder before words", user(f"{REMINDER}\nHi."), user("Hi."), "reminders"),
    ("a reminder behind a result", result(f"1 file\n\n{REMINDER}\n"), result("1 file"), "reminders"),
    ("a result that is a reminder", result(REMINDER), result(""), "reminders"),
    ("a reminder in a part of its own", user([part("Hi."), part(REMINDER), IMAGE]), user([part("Hi."), IMAGE]), "reminders"),
    ("a reminder in a part with words", user([part(f"Hi.{REMINDER}")]), user([part("Hi.")]), "reminders"),
    ("a reminder as the only part", user([part(REMINDER)]), None, "reminders"),
    ("parts whose places mean something stay", {**user([part(REMINDER), part("Hi.")]), PRIVATE: APART}, {**user([part(""), part("Hi.")]), PRIVATE: APART}, "reminders"),
    ("a reminder that is not closed", user("<system-reminder> Hi."), ...),
    ("an empty part without a reminder", user([part(""), part("Hi.")]), ...),
    ("a reminder by the assistant", assistant(REMINDER), ...),
    ("no content", {"role": "user", "content": None}, ...),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_the_client_wrote(row):
    _, message, expected, *rules = row
    before = copy.deepcopy(message)
    (out,), _ = taken(clean(stream(entry(message, assistant())), ("claude-code",)))
    left = [message] if expected is ... else [expected] if expected else []
    assert out.messages == [*left, assistant()]
    assert {rule for rule, count in out.cleanup_counts.items() if count} == set(rules)
    assert message == before, "what the reader shares between entries is never changed"


def test_sets_are_asked_for_by_name():
    assert cleaning.names() == ("goose", "claude-code")
    assert cleaning.rule_names(("claude-code",)) == ("echoed_commands", "local_outputs", "interruptions", "reminders")
    assert Options().cleanups == Options(cleanup=("goose",)).cleanups == ("goose",)
    assert Options(cleanup_goose=False).cleanups == ()
    assert Options(cleanup_goose=False, cleanup=("goose",)).cleanups == ("goose",)
    assert Options(cleanup=("claude-code",)).cleanups == ("goose", "claude-code")


def test_rules_of_other_sets_are_left_alone():
    (out,), _ = taken(clean(stream(entry(user("<info-msg>x</info-msg>"), user(ECHO))), ("claude-code",)))
    assert out.messages == [user("<info-msg>x</info-msg>")]


def test_many_openings_take_no_more_than_linear_time():
    text = "<system-reminder>" * 100_000
    (out,), _ = taken(clean(stream(entry(user(text), user("<command-name>" * 100_000))), ("claude-code",)))
    assert out.messages[0]["content"] == text
