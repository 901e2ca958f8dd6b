"""Small logs of agents that do more than go on: each is what one session logged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conftest import assistant, user

Message = dict[str, Any]
AGENT: Message = {"role": "system", "content": "You are a coding agent.\nWork in small steps and say what you find."}
TITLE: Message = {"role": "system", "content": "Write a title for what the user asks, in a few words."}
SCOUT: Message = {"role": "system", "content": "You look for things in a repository and report where they are."}


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}, "prompt": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


READ, TASK = tool("read_file"), tool("task")


class Log:
    """Makes the lines of one session, a minute apart."""

    def __init__(self, session: str | None = "s1", tools: list[Any] | None = None) -> None:
        self._session, self._tools = session, tools
        self.lines: list[dict[str, Any]] = []

    def add(
        self,
        *messages: Message,
        says: str | Message,
        finish: str | None = "stop",
        id: str | None = None,
        **request: Any,
    ) -> Message:
        """A request and its reply, which is given back."""
        number = len(self.lines)
        reply = assistant(says) if isinstance(says, str) else says
        tools = request.pop("tools", self._tools)
        asked = {"model": "gpt-4.1", "messages": list(messages), **({"tools": tools} if tools else {}), **request}
        choice = {"index": 0, "message": reply, "finish_reason": finish}
        line: dict[str, Any] = {"timestamp": f"2026-01-13T10:{number:02}:00Z"}
        if self._session is not None:
            line["session_id"] = self._session
        response = {"id": id or f"r{number}", "choices": [choice]}
        self.lines.append({**line, "request": asked, "response": response})
        return reply


def calling(name: str, arguments: str, id: str = "call_1", text: str | None = None) -> Message:
    function = {"name": name, "arguments": arguments}
    return assistant(text, tool_calls=[{"id": id, "type": "function", "function": function}])


def result(text: str, id: str = "call_1") -> Message:
    return {"role": "tool", "tool_call_id": id, "content": text}


def grows() -> list[Any]:
    """Two requests, of which the second goes on from the first."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


def regenerated() -> list[Any]:
    """The second reply was asked for once more, and the conversation went on from the new one."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    asked = (AGENT, user("Which test fails?"), one, user("Why?"))
    log.add(*asked, says="It adds strings.")
    two = log.add(*asked, says="It starts from one instead of zero.")
    log.add(*asked, two, user("Mend it."), says="It is mended.")
    return log.lines


def edited() -> list[Any]:
    """The user edited the second prompt."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    begin = (AGENT, user("Which test fails?"), one)
    log.add(*begin, user("Remove it."), says="The test is gone.")
    two = log.add(*begin, user("Tell me which line of it is at fault."), says="Line 3 is.")
    log.add(*begin, user("Tell me which line of it is at fault."), two, user("Mend it."), says="It is mended.")
    return log.lines


def rewound() -> list[Any]:
    """The user went back to the first answer, and from there another way."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    begin = (AGENT, user("Which test fails?"), one)
    two = log.add(*begin, user("Remove it."), says="The test is gone.")
    log.add(*begin, user("Remove it."), two, user("Now run the others."), says="The others pass.")
    log.add(*begin, user("Explain the failure in one sentence first."), says="It adds strings.")
    return log.lines


SUMMARY = (
    "The user wants the failing test of the sums to be mended. We read tests/test_sum.py and src/sum.py, found that "
    "add() starts from one instead of zero, and changed line 3 of src/sum.py. What is left: run all tests once more."
)
ASK_SUMMARY = user("Write a summary of this conversation, so that another agent can go on from it.")


def compacted() -> list[Any]:
    """The history became too long; a summary stands for it, and one answer follows."""
    log = Log(tools=[READ])
    one = log.add(AGENT, user("Mend the failing test."), says=calling("read_file", '{"path": "tests/test_sum.py"}'))
    begin = (AGENT, user("Mend the failing test."), one, result("def test_sum(): ..."))
    two = log.add(*begin, says="add() starts from one; I changed it.")
    log.add(*begin, two, ASK_SUMMARY, says=SUMMARY)
    log.add(AGENT, user(f"This session goes on from an earlier one:\n{SUMMARY}"), says="All tests pass now.")
    return log.lines


def title_last() -> list[Any]:
    """The last request, as long as the one before, asks for a title."""
    log = Log(tools=[READ])
    log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(TITLE, user("Which test fails?"), says="A failing test", tools=None)
    return log.lines


def clock() -> list[Any]:
    """The system prompt says what time it is."""
    log = Log()

    def at(minute: int) -> Message:
        return {"role": "system", "content": f"{AGENT['content']}\nIt is 10:{minute:02}."}

    one = log.add(at(0), user("Which test fails?"), says="The test of sums.")
    two = log.add(at(1), user("Which test fails?"), one, user("Why?"), says="It adds strings.")
    log.add(at(2), user("Which test fails?"), one, user("Why?"), two, user("Mend it."), says="It is mended.")
    return log.lines


PROMPT = "Find every place in the repository where add() is called, and say which of them pass strings."


def subagent() -> list[Any]:
    """A call begins an agent of its own, whose requests stand between those of the first one."""
    log = Log(tools=[READ, TASK])
    arguments = '{"prompt": "' + PROMPT + '"}'
    one = log.add(AGENT, user("Who calls add()?"), says=calling("task", arguments))
    look = log.add(SCOUT, user(PROMPT), says=calling("read_file", '{"path": "src/sum.py"}', "call_2"), tools=[READ])
    found = log.add(
        SCOUT,
        user(PROMPT),
        look,
        result("def add(): ...", "call_2"),
        says="Only main() does, with strings.",
        tools=[READ],
    )
    log.add(AGENT, user("Who calls add()?"), one, result(found["content"]), says="main() calls it, with strings.")
    return log.lines


def retried() -> list[Any]:
    """A reply broke off without a reason, and the same request was sent again."""
    log = Log()
    log.add(AGENT, user("Which test fails?"), says="The test of", finish=None)
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


def twice() -> list[Any]:
    """A request and its response were logged twice."""
    log = Log()
    log.add(AGENT, user("Which test fails?"), says="The test of sums.", id="same")
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.", id="same")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


def same_words() -> list[Any]:
    """The same request got the same words under another id."""
    log = Log()
    log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


def stripped() -> list[Any]:
    """The client leaves the reasoning of replies out when it sends them back."""
    log = Log()
    asked = [AGENT, user("Which test fails?")]
    for word in ("The test of sums.", "It adds strings.", "It is mended."):
        log.add(*asked, says=assistant(word, reasoning_content=f"I think: {word}"))
        asked += [assistant(word), user("Go on.")]
    return log.lines


GOOSE_TITLE: Message = {"role": "system", "content": "Reply with only a description in four words or less"}


def cleaned_title() -> list[Any]:
    """Goose asks for a title, which cleaning drops."""
    log = Log()
    log.add(GOOSE_TITLE, user("Here are the first few user messages: Which test fails?"), says="A failing test")
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


def broken() -> list[Any]:
    """The last reply broke off, and nobody asked again."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is", finish=None)
    return log.lines


def reworded() -> list[Any]:
    """The client sends a reply back in other words."""
    log = Log()
    log.add(AGENT, user("Which test fails?"), says="The test of sums fails.\nIt compares 3 with 4, which is wrong.")
    short = assistant("The test of sums fails.")
    log.add(AGENT, user("Which test fails?"), short, user("Mend it."), says="It is mended.")
    return log.lines


def emptied() -> list[Any]:
    """The client empties the results of earlier calls."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Mend the failing test."))
    one = log.add(*asked, says=calling("read_file", '{"path": "a.py"}'))
    two = log.add(*asked, one, result("def add(): ..."), says=calling("read_file", '{"path": "b.py"}', "call_2"))
    log.add(*asked, one, result("[cleared]"), two, result("def test(): ...", "call_2"), says="It is mended.")
    return log.lines


def taken_up() -> list[Any]:
    """The user went another way, then came back to the first one."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    begin = (AGENT, user("Which test fails?"), one)
    two = log.add(*begin, user("Mend it."), says="It is mended.")
    log.add(*begin, user("Remove it."), says="The test is gone.")
    log.add(*begin, user("Mend it."), two, user("Run the others."), says="The others pass.")
    return log.lines


def unanswered() -> list[Any]:
    """The last request has no reply."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="")
    log.lines[-1].pop("response")
    return log.lines


def compacted_twice() -> list[Any]:
    """Two summaries, one after the other; the second stands for the first and what came behind it."""
    log = Log(tools=[READ])
    one = log.add(AGENT, user("Mend the failing test."), says="add() starts from one; I changed it.")
    log.add(AGENT, user("Mend the failing test."), one, ASK_SUMMARY, says=SUMMARY)
    second = user(f"This session goes on from an earlier one:\n{SUMMARY}")
    two = log.add(AGENT, second, says="All tests pass now, also those of the command line, which I ran twice.")
    later = (
        "After the sums were mended, all tests pass, those of the command line as well. The user did not say yet "
        "whether a release is to be made; the version stands in pyproject.toml, and the notes are not written."
    )
    log.add(AGENT, second, two, ASK_SUMMARY, says=later)
    log.add(AGENT, user(f"This session goes on from an earlier one:\n{later}"), says="Shall I make a release?")
    return log.lines


def lone() -> list[Any]:
    """Two first requests with nothing in common."""
    log = Log()
    log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("How large is the repository?"), says="It has 40 files.")
    return log.lines


def nameless(log: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    """The same log without session ids."""
    return lambda: [{name: value for name, value in line.items() if name != "session_id"} for line in log()]


def by_turns() -> list[Any]:
    """Three conversations of two turns, logged by turns."""
    log = Log()
    conversations = [
        ("Which test fails?", "The test of sums.", "Mend it.", "It is mended."),
        ("How large is the repository?", "It has 40 files.", "List the three largest.", "parser.py, sums.py, main.py"),
        ("Who wrote the parser?", "Ada did, in March.", "When was it changed last?", "On the second of May."),
    ]
    for first, answer, _, _ in conversations:
        log.add(AGENT, user(first), says=answer)
    for first, answer, second, last in conversations:
        log.add(AGENT, user(first), assistant(answer), user(second), says=last)
    return log.lines


def with_titles() -> list[Any]:
    """The client asks for three titles of a conversation of two turns."""
    log = Log(tools=[READ])
    prompt = "Which test fails?"
    one = log.add(AGENT, user(prompt), says="The test of sums.")
    for words in ("two", "three", "four"):
        title = {"role": "system", "content": f"Write a title of {words} words for what the user asks."}
        log.add(title, user(prompt), says=f"A title of {words} words", tools=[])
    log.add(AGENT, user(prompt), one, user("Mend it."), says="It is mended.")
    return log.lines


def probe() -> list[Any]:
    """The client asks for one token, to see whether there is a quota."""
    log = Log()
    log.add(user("quota"), says="#", max_tokens=1)
    return log.lines


def resent_with_other_notes() -> list[Any]:
    """A reply broke off twice; each time the client sent the request again, with another note."""
    log = Log()
    log.add(AGENT, user("Which test fails?\n\nNote: it is ten."), says="The test of", finish=None)
    log.add(AGENT, user("Which test fails?\n\nNote: it is noon."), says="The test", finish=None)
    one = log.add(AGENT, user("Which test fails?\n\nNote: it is one."), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


def windows() -> list[Any]:
    """Only the newest messages are sent, with a note in the last one of the user, and ids of calls written anew."""
    log = Log(tools=[READ])
    before: list[Message] = []
    for number, prompt in enumerate(("Which test fails?", "Mend it as you think best.", "Run all.", "Release it.")):
        path = '{"path": "' + f"tests/{number}.py" + '"}'
        log.add(AGENT, *before, user(f"{prompt}\n\nNote: step {number}."), says=calling("read_file", path))
        called = [calling("read_file", path, f"renamed_{number}"), result("def test(): ...", f"renamed_{number}")]
        noted = user(f"{prompt}\n\nNote: still {number}.")
        done = log.add(AGENT, *before, noted, *called, says=f"Step {number} is done, and it went well.")
        before = [user(prompt), *called, done]
    return log.lines


def wrapped_subagent() -> list[Any]:
    """The prompt of a sub-agent stands in a text around it, and the client names its call anew."""
    log = Log(tools=[READ, TASK])
    arguments = '{"prompt": "' + PROMPT + '"}'
    log.add(AGENT, user("Who calls add()?"), says=calling("task", arguments))
    around = user(f"Another agent asks you this:\n\n{PROMPT}\n\nReport what you find.")
    found = log.add(SCOUT, around, says="Only main() does, with strings.", tools=[READ])
    told = result(f"{found['content']}\n\nagentId: 7", "renamed")
    log.add(AGENT, user("Who calls add()?"), calling("task", arguments, "renamed"), told, says="main() calls it.")
    return log.lines


def edited_behind_summary() -> list[Any]:
    """The first prompt behind a summary was edited."""
    log = Log(tools=[READ])
    one = log.add(AGENT, user("Mend the failing test."), says="add() starts from one; I changed it.")
    log.add(AGENT, user("Mend the failing test."), one, ASK_SUMMARY, says=SUMMARY)
    begin = (AGENT, user(f"This session goes on from an earlier one:\n{SUMMARY}"), assistant("Understood."))
    log.add(*begin, user("Run the tests."), says="They pass.")
    two = log.add(*begin, user("Make a release of what is mended."), says="Which number is it to have?")
    log.add(*begin, user("Make a release of what is mended."), two, user("The next one."), says="It is released.")
    return log.lines


def kept_task_and_tail() -> list[Any]:
    """What comes after a compaction holds the first task with the summary in one text, and the last answer."""
    log = Log(tools=[READ])
    task = "Mend the failing test of the sums."
    one = log.add(AGENT, user(task), says="add() starts from one.")
    two = log.add(AGENT, user(task), one, user("Go on."), says="I changed it; add() starts from zero.")
    log.add(AGENT, user(task), one, user("Go on."), two, ASK_SUMMARY, says=SUMMARY)
    log.add(AGENT, user(f"{task}\n\nThis was done:\n{SUMMARY}"), two, user("Run all tests."), says="They pass.")
    return log.lines


def topic_of_noted_prompt() -> list[Any]:
    """A request asks of a prompt, which was sent with a note, under the settings of its conversation."""
    log = Log(tools=[READ])
    log.add(AGENT, user("Which test fails?\n\nNote: it is ten."), says="The test of sums.")
    log.add(TITLE, user("Which test fails?"), says="A failing test")
    return log.lines


def transcript_of_one_reply() -> list[Any]:
    """A summary of the first exchange is asked for, and the conversation goes on without it."""
    log = Log(tools=[READ])
    said = "The test of the sums fails, since add() starts from one instead of zero."
    one = log.add(AGENT, user("Which test fails?"), says=said)
    log.add(TITLE, user(f"Summarise this:\n\nuser: Which test fails?\n\nassistant: {said}"), says=SUMMARY)
    log.add(AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


def short_tail_of_summary() -> list[Any]:
    """Behind a summary stands a short answer that is given again later; then the prompt behind it was edited."""
    log = Log(tools=[READ])
    one = log.add(AGENT, user("Mend the failing test."), says=calling("read_file", '{"path": "a.py"}'))
    began = (one, result("def add(): ..."))
    two = log.add(AGENT, user("Mend the failing test."), *began, says="ok")
    log.add(AGENT, user("Mend the failing test."), *began, two, ASK_SUMMARY, says=SUMMARY)
    begin = (AGENT, user(f"This session goes on from an earlier one:\n{SUMMARY}"), *began, two)
    three = log.add(*begin, user("Run all tests."), says="They pass.")
    log.add(*begin, user("Run all tests."), three, user("Go on."), says="ok")
    noted = user(f"{begin[1]['content']}\n\nNote: it is noon.")
    log.add(AGENT, noted, *begin[2:], user("Make a release of it."), says="Which number is it to have?")
    return log.lines


def results_in_another_order() -> list[Any]:
    """A later request has the results of parallel calls in another order."""
    log = Log(tools=[READ])
    both = assistant(None, tool_calls=[*map(_call, ("a.py", "b.py"))])
    asked = (AGENT, user("Compare a.py and b.py."))
    log.add(*asked, says=both)
    one, two = result("def a(): ...", "call_a.py"), result("def b(): ...", "call_b.py")
    three = log.add(*asked, both, two, one, says="They differ in line 1.")
    log.add(*asked, both, one, two, three, user("Which is older?"), says="a.py is.")
    return log.lines


def _call(path: str) -> dict[str, Any]:
    (call,) = calling("read_file", f'{{"path": "{path}"}}', f"call_{path}")["tool_calls"]
    return call


def results_sent_twice() -> list[Any]:
    """A resumed client sends each result twice."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Mend the failing test."))
    one = log.add(*asked, says=calling("read_file", '{"path": "a.py"}'))
    said = result("def add(): ...")
    two = log.add(*asked, one, said, says="It is mended.")
    log.add(*asked, one, said, said, two, user("Go on."), says="There is no more to do.")
    return log.lines


def arguments_written_anew() -> list[Any]:
    """A proxy parses arguments and writes them in its own way: order, spaces, escapes and numbers change."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Read the beginning of caf\u00e9.py."))
    log.add(
        *asked,
        says=calling("read_file", '{"path": "caf\\u00e9.py", "limit": 10, "from": 1e1, "id": 1234567890123456789}'),
    )
    anew = '{"id":1234567890123456800,"from":10,"limit":10.0,"path":"caf\u00e9.py"}'
    two = log.add(*asked, calling("read_file", anew), result("def add(): ..."), says="It is a function.")
    log.add(*asked, calling("read_file", anew), result("def add(): ..."), two, user("Go on."), says="It has one line.")
    return log.lines


def thoughts_in_the_text() -> list[Any]:
    """An open model thinks in its text; the client takes that out when it sends replies back."""
    log = Log()
    asked = [AGENT, user("Which test fails?")]
    for thought, word in (
        ("<think>\nSums.\n</think>\n\n", "The test of sums."),
        ("Strings?\n</think>\n\n", "It adds strings."),  # the prompt opened the block
        ("<think></think>", "It is mended."),
    ):
        log.add(*asked, says=thought + word)
        asked += [assistant(word), user("Go on.")]
    return log.lines


def first_reply_made_anew() -> list[Any]:
    """A title was asked for before the first reply was asked for once more."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Which test fails?"))
    log.add(*asked, says="The test of sums.")
    log.add(TITLE, user("Which test fails?"), says="A failing test", tools=None)
    two = log.add(*asked, says="It is the one in test_sum.py.")
    log.add(*asked, two, user("Mend it."), says="It is mended.")
    return log.lines


HARBOUR = "The harbour is north of the town, and"
SHIPS = " ships leave from it for the islands."


def _truncated(says: str) -> tuple[Log, tuple[Message, ...]]:
    """A log whose first reply reached its limit, and the messages of its request."""
    log = Log()
    asked = (AGENT, user("Describe the harbour."))
    log.add(*asked, says=says, finish="length")
    return log, asked


def continued_by_prefill() -> list[Any]:
    """A reply reached its limit; the client sends it as the last message, and later both as one."""
    log, asked = _truncated(HARBOUR)
    log.add(*asked, assistant(HARBOUR), says=SHIPS)
    log.add(*asked, assistant(HARBOUR + SHIPS), user("Shorter."), says="A port.")
    return log.lines


def continued_twice() -> list[Any]:
    """What continues a reply is truncated, too, and the session ends with what continues that."""
    log, asked = _truncated(HARBOUR)
    log.add(*asked, assistant(HARBOUR), says=" ships leave", finish=None)
    log.add(*asked, assistant(f"{HARBOUR} ships leave"), says=" from it for the islands.")
    return log.lines


def continued_from_a_part() -> list[Any]:
    """The client keeps the complete words of a truncated reply only, and joins both with a space of its own."""
    log, asked = _truncated(f"{HARBOUR} shi")
    log.add(*asked, assistant(HARBOUR), says=SHIPS.strip())
    log.add(*asked, assistant(HARBOUR + SHIPS), user("Shorter."), says="A port.")
    return log.lines


def continued_apart() -> list[Any]:
    """The client keeps a truncated reply and what continues it as two messages."""
    log, asked = _truncated(HARBOUR)
    log.add(*asked, assistant(HARBOUR), says=SHIPS)
    log.add(*asked, assistant(HARBOUR), assistant(SHIPS), user("Shorter."), says="A port.")
    return log.lines


def prefilled_by_the_client() -> list[Any]:
    """The client begins each reply, and sends it back as one message."""
    log = Log()
    asked = (AGENT, user("Name a fruit as JSON."))
    log.add(*asked, assistant('{"fruit":'), says='"apple"}')
    log.add(*asked, assistant('{"fruit":"apple"}'), user("Another."), says='{"fruit":"pear"}')
    return log.lines


def replies_in_a_row() -> list[Any]:
    """Replies follow each other without a user between; none was truncated."""
    log = Log()
    one = log.add(AGENT, user("Count to three."), says="One.")
    two = log.add(AGENT, user("Count to three."), one, says="Two.")
    log.add(AGENT, user("Count to three."), one, two, says="Three.")
    return log.lines


def part_of_a_truncated_reply_kept() -> list[Any]:
    """Of a reply that was interrupted in its second call, the client keeps the first."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Compare a.py and b.py."))
    log.add(*asked, says=assistant(None, tool_calls=[_call("a.py"), _call("b.p")]), finish=None)
    kept = (assistant(None, tool_calls=[_call("a.py")]), result("def a(): ...", "call_a.py"))
    two = log.add(*asked, *kept, says="I have read a.py.")
    log.add(*asked, *kept, two, user("Go on."), says="b.py is missing.")
    return log.lines


def left_out_between(name: str = "x") -> list[Any]:
    """The client drops messages and empties a result; unless it keeps the call's id, two calls may be meant."""
    log = Log(tools=[READ])
    said: list[Message] = [AGENT, user("Watch the file until it has no error.")]
    said.append(log.add(*said, says="I shall read it each time you say so."))
    for number in range(2):
        said.append(user("now"))
        said.append(log.add(*said, says=calling("read_file", '{"path": "a.py"}', f"call_{number}")))
        said.append(result(f"error {number}: " + "a line of the file\n" * 9, f"call_{number}"))
        said.append(log.add(*said, says=f"It still has an error, the one of number {number}."))
    said.append(user("Is it always the same one?"))
    last = log.add(*said, says="No, the second one is in another line of the file.")
    call = calling("read_file", '{"path": "a.py"}', name)
    kept = [AGENT, user("now"), call, result("[cleared]", name), user("Is it always the same one?"), last]
    for prompt in ("Which came first?", "Which is worse?", "Who wrote it?", "Is there a test?"):
        kept.append(user(prompt))
        kept.append(log.add(*kept, says=f"To the question {prompt} I have no answer yet."))
    return log.lines


def _with_choices(line: dict[str, Any], *others: str) -> None:
    """Give a response more choices."""
    choices = line["response"]["choices"]
    choices += [{"index": at, "message": assistant(text), "finish_reason": "stop"} for at, text in enumerate(others, 1)]


def second_choice_used() -> list[Any]:
    """The conversation continues from the second choice of a response."""
    log = Log()
    log.add(AGENT, user("How do I get to the harbour?"), says="Take the bus.")
    _with_choices(log.lines[0], "Take the train.")
    train = assistant("Take the train.")
    two = log.add(AGENT, user("How do I get to the harbour?"), train, user("And back?"), says="Take the ferry.")
    _with_choices(log.lines[1], "Walk.")
    log.add(AGENT, user("How do I get to the harbour?"), train, user("And back?"), two, user("When?"), says="At ten.")
    return log.lines


def earlier_choice_taken_up() -> list[Any]:
    """A conversation grew from first choices; then the user goes back to the second choice of the last response."""
    log = Log()
    one = log.add(AGENT, user("How do I get to the harbour?"), says="Take the bus.")
    _with_choices(log.lines[0], "Take the train.")
    asked = (AGENT, user("How do I get to the harbour?"), one, user("And back?"))
    log.add(*asked, says="Take the ferry.")
    _with_choices(log.lines[1], "Walk.", "Take a taxi.")
    log.add(*asked, assistant("Take a taxi."), user("When?"), says="At ten.")
    return log.lines


def two_choices_used() -> list[Any]:
    """The user continues from both choices of a response; a line counts as one reply, the choice that was used first."""
    log = Log()
    asked = (AGENT, user("How do I get to the harbour?"))
    one = log.add(*asked, says="Take the bus.")
    _with_choices(log.lines[0], "Take the train.")
    two = log.add(*asked, one, user("When?"), says="At nine.")
    log.add(*asked, one, user("When?"), two, user("Where from?"), says="From the square.")
    log.add(*asked, assistant("Take the train."), user("When?"), says="At ten.")
    return log.lines
