"""What is put back in a history is what the log has of the same calls and replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from chatsquash import Options, convert_session
from chatsquash.trees.emptied import is_emptied
from tests.conftest import assistant, cases, user

from . import logs
from .logs import AGENT, READ, Log, Message, calling, result

LONG = "one line of a file that is long enough to be emptied\n" * 8


@cases(
    "here, there, expected",
    ("equal texts", LONG, LONG, False),
    ("equal but for white space at the ends", LONG.strip(), LONG, False),
    ("nothing is left", "", "a.py b.py", True),
    ("a note in brackets, longer than the result", "[Old tool result content cleared]", "12 lines", True),
    ("a note in other brackets", "<result omitted>", LONG, True),
    ("a note without brackets instead of a long text", "Output dropped to save room.", LONG, True),
    ("the beginning of a long text", LONG[:200], LONG, True),
    ("the end of a long text", LONG[-200:], LONG, True),
    ("the beginning and a note", f"{LONG[:200]}\n[truncated]", LONG, True),
    ("the beginning, dots and the end", f"{LONG[:90]}\n... 250 characters ...\n{LONG[-70:]}", LONG, True),
    ("a second run with other numbers", "3 passed in 0.2s", "3 passed in 0.21s", False),
    ("a second run that says less", "12 passed", "2 failed, 10 passed", False),
    ("another short value", "rain", "sunny", False),
    ("another JSON value", "[]", '["a.py"]', False),
    ("a second run without one line of the first", LONG, f"{LONG[:106]}FAILED test_of_sums in line 12 of it\n{LONG[106:]}", False),
    ("a file that became shorter by its middle", LONG[:106] + LONG[318:], LONG[:106] + "x" * 99 + LONG[318:], False),
    ("a longer text", LONG, "12 lines", False),
    ("a text where there was none", "12 lines", "", False),
)  # fmt: skip
def test_a_result_is_emptied_if_it_is_what_is_left_of_its_original(here, there, expected):
    assert is_emptied(result(here), result(there)) is expected


@cases(
    "content, expected",
    ("the image is gone", [{"type": "text", "text": "A chart."}], True),
    ("a note instead of it", "A chart.\n[image removed]", True),
    ("all is there", [{"type": "text", "text": "A chart."}, {"type": "image_url", "image_url": {"url": "data:,1"}}], False),
)  # fmt: skip
def test_a_result_is_emptied_if_it_lacks_its_image(content, expected):
    image = {"type": "image_url", "image_url": {"url": "data:,1"}}
    original = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "A chart."}, image]}
    assert is_emptied({**original, "content": content}, original) is expected


# Histories as clients write them

Spelling = Callable[[int], str]
"""The id of the call of a rank in the conversation."""
_TIMES = count()
IDS: dict[str, Spelling] = {
    "kept": lambda rank: f"call_{rank}",
    "written anew with each request": lambda rank: f"x{rank}_{next(_TIMES) // 100}",
    "equal on all calls": lambda rank: "call_0",
}


def with_ids(messages: list[Message], spelling: Spelling) -> list[Message]:
    """A history with its ids spelled anew; results follow their calls."""
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            names[call["id"]] = spelling(int(call["id"].removeprefix("call_")))
    found = []
    for message in messages:
        if message["role"] == "tool":
            message = {**message, "tool_call_id": names[message["tool_call_id"]]}
        elif message.get("tool_calls"):
            message = {**message, "tool_calls": [{**call, "id": names[call["id"]]} for call in message["tool_calls"]]}
        found.append(message)
    return found


def logged(truth: list[Message], sent: Callable[[int, list[Message]], list[Message]], spelling: Spelling) -> list[Any]:
    """The log of a conversation: a line for each of its assistant messages; ``sent`` makes a history of what was said."""
    log = Log(tools=[READ])
    for at, message in enumerate(truth):
        if message["role"] == "assistant":
            finish = "tool_calls" if message.get("tool_calls") else "stop"
            log.add(
                AGENT, *with_ids(sent(at, truth[:at]), spelling), says=with_ids([message], spelling)[0], finish=finish
            )
    return log.lines


def record(lines: list[Any], **options: Any) -> list[Message]:
    given = Options(**{"anonymize": False, "conversations": "main", "loss": "weight", "restore": "all", **options})
    (outcome,) = convert_session([json.dumps(line) for line in lines], given)
    (found,) = outcome.records
    return json.loads(found.line)["messages"]


def shown(messages: list[Message]) -> list[str]:
    return [each["content"] for each in messages if each["role"] == "tool"]


def weights(messages: list[Message]) -> list[int]:
    return [each["weight"] for each in messages if each["role"] == "assistant"]


def read(rank: int, path: str = "a.py") -> Message:
    return calling("read_file", json.dumps({"path": path}), f"call_{rank}")


def in_parallel(*ranks: int) -> Message:
    return assistant(None, tool_calls=[read(rank, f"{rank % 2}.py")["tool_calls"][0] for rank in ranks])


TWICE = [
    user("Mend it."),
    assistant("I shall read the parser first, then its tests."),
    user("continue"),
    read(1, "parser.py"),
    result("PARSER: 12 lines", "call_1"),
    assistant("The parser drops the last token of a line."),
    user("continue"),
    read(2, "test_parser.py"),
    result(f"TESTS: {LONG}", "call_2"),
    assistant("The test expects that token."),
]
EQUAL_CALLS = [
    user("Mend it."),
    read(1), result(f"first: {LONG}", "call_1"),
    read(2), result(f"second: {LONG}", "call_2"),
    read(3), result("third: 2 lines", "call_3"),
    assistant("It is mended."), user("Once more."), assistant("It was mended before."),
]  # fmt: skip
PARALLEL = [
    user("Compare."),
    in_parallel(1, 2, 3),
    result(f"one: {LONG}", "call_1"), result(f"two: {LONG}", "call_2"), result("three", "call_3"),
    in_parallel(4, 6),
    result(f"four: {LONG}", "call_4"), result(f"six: {LONG}", "call_6"),
    assistant("They differ."), user("Why?"), assistant("They were written by two people."),
]  # fmt: skip
SAID = {"continue twice": TWICE, "equal calls": EQUAL_CALLS, "parallel and equal calls": PARALLEL}


def with_note(at: int, messages: list[Message]) -> list[Message]:
    """The last prompt of the user has a note, in this request only."""
    last = max(place for place, each in enumerate(messages) if each["role"] == "user")
    noted = user(f"{messages[last]['content']}\n\nNote from the editor: parser.py is open in version {at}.")
    return [*messages[:last], noted, *messages[last + 1 :]]


def cleared(at: int, messages: list[Message]) -> list[Message]:
    """Results are emptied, but for those of the last calls."""
    last = max((place for place, each in enumerate(messages) if each.get("tool_calls")), default=0)
    return [
        {**each, "content": "[cleared]"} if each["role"] == "tool" and place < last else each
        for place, each in enumerate(messages)
    ]


def swapped(at: int, messages: list[Message]) -> list[Message]:
    """Results of parallel calls come in another order, emptied ones among them."""
    found: list[Message] = []
    results: list[Message] = []
    for each in [*cleared(at, messages), None]:
        if each and each["role"] == "tool":
            results.insert(0, each)
        else:
            found += [*results, *([each] if each else [])]
            results = []
    return found


@pytest.mark.parametrize(
    "name, ids",
    [(name, ids) for name in SAID for ids in IDS if not (name.startswith("parallel") and ids == "equal on all calls")],
)
@cases("sent, lacks", (with_note, False), (cleared, True), (lambda at, said: with_note(at, cleared(at, said)), True))
def test_each_call_has_its_own_result(name, ids, sent, lacks):
    messages = record(logged(SAID[name], sent, IDS[ids]))
    assert shown(messages) == shown(SAID[name])
    expected = [int(not lacks or at <= _calls(SAID[name])) for at in range(len(weights(messages)))]
    assert weights(messages) == expected


def _calls(truth: list[Message]) -> int:
    """The rank of the last reply whose request lacks nothing, where all results before the last calls are emptied."""
    said = [each for each in truth if each["role"] == "assistant"]
    first, second = [rank for rank, each in enumerate(said) if each.get("tool_calls")][:2]
    return second if first < second else first


@pytest.mark.parametrize("ids", ["kept", "written anew with each request"])
def test_results_in_another_order_are_those_of_their_calls(ids):
    messages = record(logged(PARALLEL, swapped, IDS[ids]))
    named = {call["id"]: each["id"] for said, sent in zip(_calling(PARALLEL), _calling(messages), strict=True)
             for call, each in zip(said["tool_calls"], sent["tool_calls"], strict=True)}  # fmt: skip
    expected = {named[each["tool_call_id"]]: each["content"] for each in PARALLEL if each["role"] == "tool"}
    assert {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"} == expected


def _calling(messages: list[Message]) -> list[Message]:
    return [each for each in messages if each.get("tool_calls")]


def window(most: int) -> Callable[[int, list[Message]], list[Message]]:
    """The oldest messages are left out, from a prompt of the user on; results before the last calls are emptied."""

    def sent(at: int, messages: list[Message]) -> list[Message]:
        last = max((place for place, each in enumerate(messages) if each["role"] == "assistant"), default=0)
        starts = [place for place, each in enumerate(messages[:last]) if each["role"] == "user"]
        fitting = [place for place in starts if len(messages) - place <= most] or starts[-1:]
        return cleared(at, messages)[fitting[0] if fitting else 0 :]

    return sent


@pytest.mark.parametrize("ids", ["kept", "written anew with each request"])
@pytest.mark.parametrize("most", [3, 4, 6])
def test_a_window_is_filled_with_what_stood_there(most, ids):
    messages = record(logged(TWICE, window(most), IDS[ids]))
    said = [(each["role"], each.get("content")) for each in messages[1:]]
    assert said == [(each["role"], each.get("content")) for each in TWICE]


def test_a_result_of_a_second_run_stays_as_it_is():
    log = Log(tools=[READ])
    asked = (AGENT, user("Run the tests."))
    one = log.add(*asked, says=read(1), finish="tool_calls")
    log.add(*asked, one, result("2 failed, 10 passed in 0.31s", "call_1"), says="Two of them fail.")
    two = log.add(*asked, one, result("12 passed", "call_1"), says="All of them pass now.")
    log.add(*asked, one, result("12 passed", "call_1"), two, user("Good."), says="You are welcome.")
    messages = record(log.lines)
    assert shown(messages) == ["12 passed"]
    assert weights(messages) == [1, 1, 1]


def test_the_same_words_after_a_second_run_stand_behind_its_result():
    log = Log(tools=[READ])
    asked = (AGENT, user("Run the tests."))
    one = log.add(*asked, says=read(1), finish="tool_calls")
    log.add(*asked, one, result(f"10 passed\n{LONG}", "call_1"), says="They pass, as far as I see.")
    two = log.add(*asked, one, result(f"12 passed\n{LONG}", "call_1"), says="They pass, as far as I see.")
    log.add(*asked, one, result("[cleared]", "call_1"), two, user("Good."), says="You are welcome.")
    assert shown(record(log.lines)) == [f"12 passed\n{LONG}"]


def test_results_that_are_sent_in_another_order_for_the_same_words_stay_with_their_calls():
    log = Log(tools=[READ])
    asked = (AGENT, user("Read both files."), in_parallel(1, 2))
    log.add(*asked[:2], says=asked[2], finish="tool_calls")
    results = [result(f"{name}: {LONG}", f"call_{rank}") for rank, name in enumerate("ab", 1)]
    log.add(*asked, *results, says="They are alike, as far as I see.")
    two = log.add(*asked, *results[::-1], says="They are alike, as far as I see.")
    log.add(*asked, *(result("[cleared]", f"call_{rank}") for rank in (1, 2)), two, user("Good."), says="Yes.")
    restored = {each["tool_call_id"]: each["content"] for each in record(log.lines) if each["role"] == "tool"}
    assert restored == {"call_1": f"a: {LONG}", "call_2": f"b: {LONG}"}


# Which replies lack something

HERE, THERE = (AGENT, user("Mend it.")), (AGENT, user("Describe the importer, please."))


def test_a_rewind_before_what_is_emptied_lacks_nothing():
    log = Log(tools=[READ])
    first = log.add(*THERE, says="It reads invoices.")
    asked = (*THERE, first, user("Read its files."))
    one = log.add(*asked, says=read(1), finish="tool_calls")
    two = log.add(*asked, one, result(LONG, "call_1"), says=read(2, "b.py"), finish="tool_calls")
    log.add(*asked, one, result("[cleared]", "call_1"), two, result("b", "call_2"), says="They are short.")
    three = log.add(*THERE, first, user("Where is its test?"), says="In tests/test_importer.py.")
    log.add(*THERE, first, user("Where is its test?"), three, user("Does it pass?"), says="It passes.")
    lines = [json.dumps(line) for line in log.lines]
    (outcome,) = convert_session(lines, Options(anonymize=False, conversations="all", loss="weight", restore="all"))
    found = [json.loads(each.line)["messages"] for each in outcome.records]
    assert sorted(map(weights, found)) == sorted([[1, 1, 1, 0], [0, 1, 1]])


@cases(
    "between",
    ("a side request", [AGENT, user("Say whether this is a new topic, and nothing else.")]),
    ("another conversation", [AGENT, user("Find all callers of add() and list them with their lines.")]),
    ("the same request, which nobody answers", None),
)
def test_what_is_asked_between_changes_nothing(between):
    log = Log(tools=[READ])
    one = log.add(*HERE, says=read(1), finish="tool_calls")
    two = log.add(*HERE, one, result(LONG, "call_1"), says=read(2, "b.py"), finish="tool_calls")
    emptied = [*HERE, one, result("[cleared]", "call_1"), two, result("b", "call_2")]
    three = log.add(*emptied, says="It is mended.")
    if between is None:
        log.lines.append({**log.lines[-1], "response": {"error": {"message": "overloaded"}}})
    else:
        log.add(*between, says="There is nothing new to say of it.", tools=None)
    log.add(*emptied, three, user("Thanks."), says="You are welcome.")
    log.add(*HERE, one, result(LONG, "call_1"), two, result("b", "call_2"), user("Only say it."), says="Mended, then.")
    lines = [json.dumps(line) for line in log.lines]
    (outcome,) = convert_session(lines, Options(anonymize=False, conversations="all", loss="weight", restore="all"))
    found = [json.loads(each.line)["messages"] for each in outcome.records]
    flags = {
        each["content"]: each["weight"] for said in found for each in said if each.get("content") and "weight" in each
    }
    assert (flags["It is mended."], flags["You are welcome."], flags["Mended, then."]) == (0, 0, 1)


# Reasoning


def test_reasoning_is_that_of_the_reply_and_not_of_one_with_the_same_words():
    log = Log()
    said = [AGENT]
    for number, thought in enumerate(("one", "two", "three")):
        note = [user(f"continue\n\nNote: file {number} is open.")]
        log.add(*said, *note, says=assistant("OK.", reasoning_content=thought))
        said += [user("continue"), assistant("OK.")]
    log.add(*said, user("Is it done?"), says=assistant("It is.", reasoning_content="four"))
    thoughts = [each.get("reasoning_content") for each in record(log.lines) if each["role"] == "assistant"]
    assert thoughts == ["one", "two", "three", "four"]


def test_what_the_client_made_up_has_no_reasoning():
    log = Log()
    log.add(AGENT, user("Go on."), says=assistant("OK.", reasoning_content="one"))
    log.add(AGENT, user("Now something else: list the files."), assistant("OK."), user("Well?"), says="There are none.")
    lines = [json.dumps(line) for line in log.lines]
    (outcome,) = convert_session(lines, Options(anonymize=False, conversations="all", restore="all"))
    found = [json.loads(each.line)["messages"] for each in outcome.records]
    (other,) = (said for said in found if said[-1]["content"] == "There are none.")
    assert "reasoning_content" not in other[2]


def test_nothing_is_restored_where_a_message_may_be_several():
    (outcome,) = convert_session(map(json.dumps, logs.left_out_between()), Options(anonymize=False, restore="results"))
    (found,) = outcome.records
    assert "[cleared]" in shown(json.loads(found.line)["messages"])


@pytest.mark.parametrize("rank", [0, 1])
def test_the_id_of_a_call_decides_which_of_several_it_is(rank):
    lines = map(json.dumps, logs.left_out_between(f"call_{rank}"))
    (outcome,) = convert_session(lines, Options(anonymize=False, restore="results"))
    (found,) = outcome.records
    assert [text[:8] for text in shown(json.loads(found.line)["messages"])] == [f"error {rank}:"]
