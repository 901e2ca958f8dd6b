"""At least the third repetition in a row of a cycle of one to four replies with the same calls, or the same text."""

from tests.steps.clients import (
    claude,
    claude_read,
    codex,
    copilot,
    gemini,
    goose,
    kimi,
    mini,
    opencode,
    openhands,
    openhands_edit,
)
from tests.steps.sessions import call, reply, user

LOOP = "loop"
BOTH = "loop repeated_call"
REPEATED = "repeated_call"
WAITING = ("queued", "running 10 %", "running 60 %", "running 90 %")
NUDGE = "Please continue working on the task. IMPORTANT: YOU SHOULD NEVER ASK FOR HUMAN HELP."
CASES = {
    "one_call_three_times": [
        user("What is in it?"),
        reply(mini("cat a", "beans")),
        reply(mini("cat a", "beans"), facts=REPEATED),
        reply(mini("cat a", "beans"), facts=BOTH),
        reply("Beans."),
    ],
    "one_call_five_times": [
        user("List them."),
        reply(goose("ls", "a b")),
        *(reply(goose("ls", "a b"), facts=REPEATED if number == 1 else BOTH) for number in range(1, 5)),
        reply("a and b."),
    ],
    "polling_with_new_results": [
        user("Wait for the job."),
        reply(claude("job status 7", WAITING[0])),
        reply(claude("job status 7", WAITING[1])),
        reply(claude("job status 7", WAITING[2]), facts=LOOP),
        reply(claude("job status 7", WAITING[3]), facts=LOOP),
        reply("It is nearly done."),
    ],
    "two_in_turn": [
        user("Compare them."),
        reply(opencode("cat a", "1")),
        reply(opencode("cat b", "2")),
        reply(opencode("cat a", "1"), facts=REPEATED),
        reply(opencode("cat b", "2"), facts=REPEATED),
        reply(opencode("cat a", "1"), facts=BOTH),
        reply(opencode("cat b", "2"), facts=BOTH),
        reply("1 and 2."),
    ],
    "three_in_turn": [
        user("Watch the three."),
        *(
            reply(codex(f"tail -1 {name}.log", f"line {round_}"), facts=LOOP if round_ == 2 else "")
            for round_ in range(3)
            for name in "abc"
        ),
        reply("They move."),
    ],
    "four_in_turn": [
        user("Beobachte die vier."),
        *(
            reply(gemini(f"tail -1 {name}.log", f"Zeile {round_}"), facts=LOOP if round_ == 2 else "")
            for round_ in range(3)
            for name in "abcd"
        ),
        reply("Sie bewegen sich."),
    ],
    "texts_differ_and_calls_do_not": [
        user("Find it."),
        reply("I look.", kimi("find . -name x", "./a/x")),
        reply("I look again.", kimi("find . -name x", "./a/x"), facts=REPEATED),
        reply("Let me look once more.", kimi("find . -name x", "./a/x"), facts=BOTH),
        reply("In a."),
    ],
    "keys_in_another_order": [
        user("Search."),
        reply(call("search", {"q": "tide", "n": 3}, "no hits")),
        reply(call("search", {"n": 3, "q": "tide"}, "no hits"), facts=REPEATED),
        reply(call("search", {"q": "tide", "n": 3}, "no hits"), facts=BOTH),
        reply("There is nothing."),
    ],
    "no_results": [
        user("Make it."),
        reply(opencode("mkdir -p a", "")),
        reply(opencode("mkdir -p a", "")),
        reply(opencode("mkdir -p a", ""), facts=LOOP),
        reply("Made."),
    ],
    "the_same_text": [
        user("Go."),
        reply("I will now start with the implementation."),
        reply("I will now start with the implementation."),
        reply("I will now start with the implementation.", facts=LOOP),
        reply("It is implemented."),
    ],
    "parallel_calls": [
        user("Check both."),
        reply(call("ping", {"host": "a"}, "up"), call("ping", {"host": "b"}, "down")),
        reply(call("ping", {"host": "a"}, "up"), call("ping", {"host": "b"}, "up")),
        reply(call("ping", {"host": "a"}, "down"), call("ping", {"host": "b"}, "up"), facts=LOOP),
        reply("They go up and down."),
    ],
    "after_other_work": [
        user("Fix it."),
        reply(claude("ls", "a.py")),
        reply(claude_read("/w/a.py", "x = 1")),
        reply(claude("make", "cc -c a")),
        reply(claude("make", "make: nothing to be done")),
        reply(claude("make", "make: up to date"), facts=LOOP),
        reply("Done."),
    ],
    "the_same_failed_edit": [
        user("Fix the sum."),
        reply(openhands_edit("/w/s.py", "a-b", "a+b", "ERROR:\nNo replacement was performed, old_str `a-b` did not appear verbatim in /w/s.py.")),
        reply(openhands_edit("/w/s.py", "a-b", "a+b", "ERROR:\nNo replacement was performed, old_str `a-b` did not appear verbatim in /w/s.py."), facts="repeated_call ignored_result"),
        reply(openhands_edit("/w/s.py", "a-b", "a+b", "ERROR:\nNo replacement was performed, old_str `a-b` did not appear verbatim in /w/s.py."), facts="loop repeated_call ignored_result"),
        reply("I could not find the text to replace."),
    ],
    "twice_two_and_once_more_in_the_next_turn": [
        user("Wait."),
        reply(copilot("state", "1")),
        reply(copilot("state", "2")),
        reply(copilot("state", "3"), facts=LOOP),
        reply("3."),
        user("And now?"),
        reply(copilot("state", "4")),
        reply("4."),
    ],
    # Look-alikes
    "only_twice": [
        user("Wait for it."),
        reply(claude("job status", "running")),
        reply(claude("job status", "done")),
        reply("Done."),
    ],
    "two_in_turn_twice": [
        user("Test first."),
        reply(opencode("make", "warning: a")),
        reply(opencode("make test", "1 failed")),
        reply(opencode("make", "warning: b")),
        reply(opencode("make test", "1 passed")),
        reply("It passes."),
    ],
    "user_between": [
        user("State?"),
        reply(codex("state", "1")),
        reply("1."),
        user("State now?"),
        reply(codex("state", "2")),
        reply("2."),
        user("And at this moment?"),
        reply(codex("state", "3")),
        reply("3."),
    ],
    "pages": [
        user("Read all pages."),
        *(reply(call("fetch_page", {"page": number}, f"page {number}")) for number in range(1, 6)),
        reply("Five pages."),
    ],
    "other_commands_of_one_tool": [
        user("Look around."),
        reply(mini("ls a", "1")),
        reply(mini("ls b", "2")),
        reply(mini("ls c", "3")),
        reply(mini("ls d", "4")),
        reply("1 to 4."),
    ],
    "not_in_a_row": [
        user("Work."),
        reply(goose("make", "a")),
        reply(goose("vi a", "b")),
        reply(goose("make", "c")),
        reply(goose("vi b", "d")),
        reply(goose("vi c", "e")),
        reply(goose("make", "f")),
        reply("Made."),
    ],
    "cycle_of_five": [
        user("Patrol."),
        *(reply(call("visit", {"room": room}, f"{room}{round_}")) for round_ in range(3) for room in "abcde"),
        reply("Three rounds."),
    ],
    "one_anchor_with_new_calls_between": [
        user("Fix each failure."),
        reply(openhands("pytest -q", "3 failed")),
        reply(openhands_edit("/w/a.py", "1", "2")),
        reply(openhands("pytest -q", "2 failed")),
        reply(openhands_edit("/w/b.py", "3", "4")),
        reply(openhands("pytest -q", "1 failed")),
        reply(openhands_edit("/w/c.py", "5", "6")),
        reply(openhands("pytest -q", "3 passed")),
        reply("All pass."),
    ],
    "one_reply_with_three_calls": [
        user("Roll three dice."),
        reply(call("roll", {}, "1"), call("roll", {}, "5"), call("roll", {}, "6")),
        reply("1, 5 and 6."),
    ],
    "empty_replies": [
        user("Go."),
        reply(),
        reply(),
        reply(),
        reply("Here I am."),
    ],
    "same_text_with_nudges": [
        user("Go."),
        reply("I think that it is done."),
        user(NUDGE),
        reply("I think that it is done."),
        user("Is the test of the border written, too?"),
        reply("I think that it is done."),
    ],
    "a_third_time_with_another_argument": [
        user("Retry."),
        reply(call("get", {"url": "/a", "timeout": 1}, "timed out after 1 s")),
        reply(call("get", {"url": "/a", "timeout": 1}, "timed out after 1.0 s"), facts="ignored_result"),
        reply(call("get", {"url": "/a", "timeout": 9}, "timed out after 9 s")),
        reply("It does not answer in time."),
    ],
    "calls_of_three_tools": [
        user("Ask all."),
        reply(call("ask_ann", {"q": "x"}, "no")),
        reply(call("ask_bob", {"q": "x"}, "no")),
        reply(call("ask_cid", {"q": "x"}, "yes")),
        reply("Cid says yes."),
    ],
    "text_between": [
        user("Wait."),
        reply(kimi("state", "1")),
        reply("Still 1."),
        reply(kimi("state", "2")),
        reply("Now 2."),
        reply(kimi("state", "3")),
        reply("Now 3."),
    ],
}  # fmt: skip
