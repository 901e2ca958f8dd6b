"""Kinds and parents of conversations that go on from summaries, as several clients ask for them and use them."""

import json
import re
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from chatsquash import Options, convert
from tests.conftest import assistant, log_line, user, write_log

PROGRAMMER = "You are an agent that programs. Read before you write, run the tests afterwards, and say little."
WRITER = "Write down what an agent and a person did, as someone needs it who takes over from them."
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
SUM_UP = "Sum up all of the above for whoever takes over, with what the person wrote."
TASKS = [
    "Have the importer read files that have tabs between the columns, as the office sends them on Mondays.",
    "Add a test in which one of the columns is empty, and another in which all of them are.",
    "Say in the handbook which files are read, and which are refused with a message.",
    "Look for other readers in the project that guess what stands between the columns.",
    "Write one line for the news of the next version, as the other lines are written.",
    "Remove the option that nobody used since last year, with its test.",
]
ANSWERS = [
    "The importer reads tabs now; the change is in reader.py, in the function that splits a line.",
    "Both tests are written and pass, in tests/test_reader.py at the end of the file.",
    "The handbook has a section with the three kinds of files, below the one on dates.",
    "There is one more such reader, in export.py, and it has the same mistake in it.",
    "The line is in the file of news, between the ones on dates and on currencies.",
    "The option and its test are gone, and nothing else mentioned them anywhere.",
]
FACTS = [
    "The person wants files with tabs to be imported; reader.py was changed and is done.",
    "Tests for empty columns exist in tests/test_reader.py, and each of them passes by now.",
    "The handbook lists three kinds of files, while the refusal of others is described nowhere yet.",
    "A second reader in export.py guesses wrongly, too, which nobody has repaired until now.",
    "News were written in one line, and the next version is planned for the first of March.",
    "An unused option was removed together with the test that belonged to it alone.",
]


class Day:
    """The log of a client: each request as a line, and what is said so far."""

    def __init__(self, session: str | None = "s", *, renews: bool = False) -> None:
        self.lines: list[Any] = []
        self.kinds: list[str] = []
        self.parents: list[int | None] = []
        """Of each line the line, counted from 1, whose conversation its own comes from."""
        self.history: list[Any] = []
        self.session = session
        self.renews = renews
        """Whether what follows a compaction has a session id of its own."""

    def ask(self, reply: Any, kind: str, parent: int | None = None, *, messages: Any = None, **fields: Any) -> None:
        fields = {"tools": TOOLS, "limit": 4096, "prompt": PROGRAMMER, **fields}
        history = self.history if messages is None else messages
        number = len(self.lines) + 1
        if self.renews and kind == "compacted" and parent != self.parents[-1]:
            self.session = f"s{number}"
        made = log_line(
            {"role": "system", "content": fields["prompt"]},
            *history,
            reply=reply,
            at=f"2026-02-03T10:{number:02}:00Z",
            session_id=self.session,
        )
        made["request"].update(
            {name: value for name, value in (("tools", fields["tools"]), ("max_tokens", fields["limit"])) if value}
        )
        made["response"]["id"] = f"r{number}"
        if self.session is None:
            del made["session_id"]
        self.lines.append(made)
        self.kinds.append(kind)
        self.parents.append(parent)

    def turn(self, number: int, kind: str = "main", parent: int | None = None, **fields: Any) -> None:
        self.history = [*self.history, user(TASKS[number])]
        self.ask(ANSWERS[number], kind, parent, **fields)
        self.history = [*self.history, assistant(ANSWERS[number])]

    def inside(self, summary: str, parent: int) -> None:
        """As Claude Code asks for a summary: one more turn."""
        self.ask(summary, "side", parent, messages=[*self.history, user(SUM_UP)])

    def apart(self, summary: str, parent: int, before: str = "") -> None:
        """As Pi and Kimi ask for a summary: the history as one text."""
        said = "\n".join(f"[{each['role']}]: {each['content']}" for each in self.history)
        text = f"{before}\n<conversation>\n{said}\n</conversation>\n\n{SUM_UP}"
        self.ask(summary, "side", parent, messages=[user(text)], prompt=WRITER, tools=None, limit=1024)


def summary_of(count: int) -> str:
    """A summary with what the person wrote word by word, as clients ask for it."""
    wrote = "\n".join(f'- "{each}"' for each in TASKS[:count])
    return f"1. What happened:\n{' '.join(FACTS[:count])}\n2. What the person wrote:\n{wrote}\n3. Next: go on with the tests."


def claude(day: Day) -> None:
    """Claude Code 2.1: the summary is one more turn, and is quoted between texts of the client."""
    day.turn(0)
    day.turn(1)
    day.inside(summary_of(2), 2)
    wrapped = (
        f"This session continues another one that ran out of room.\n\n{summary_of(2)}\n\nAsk no questions, and go on."
    )
    day.history = [user(wrapped)]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)


def claude_within_a_turn(day: Day) -> None:
    """Claude Code 2.1: within a turn the last call and its result stay."""
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "reader.py"}'}}
        ],
    }
    result = {"role": "tool", "tool_call_id": "c1", "content": "def split(line): ..."}
    day.turn(0)
    day.history = [*day.history, user(TASKS[1])]
    day.ask(call, "main")
    day.history = [*day.history, call, result]
    day.inside(summary_of(2), 2)
    day.history = [user(summary_of(2)), call, result]
    day.ask(ANSWERS[1], "compacted", 2)
    day.history = [*day.history, assistant(ANSWERS[1])]
    day.turn(2, "compacted", 2)


def claude_between_turns(day: Day) -> None:
    """Claude Code 2.1: between turns the last reply stays."""
    day.turn(0)
    day.turn(1)
    day.inside(summary_of(2), 2)
    day.history = [user(summary_of(2)), assistant(ANSWERS[1])]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)


def codex(day: Day) -> None:
    """Codex 0.1: no tools; what the person wrote stays as messages before the summary."""
    day.turn(0)
    day.turn(1)
    day.ask(summary_of(2), "side", 2, messages=[*day.history, user(SUM_UP)], tools=None)
    day.history = [user(TASKS[0]), user(TASKS[1]), user(f"Another model began with this:\n{summary_of(2)}")]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)
    day.ask(summary_of(4), "side", 5, messages=[*day.history, user(SUM_UP)], tools=None)
    day.history = [*map(user, TASKS[:4]), user(f"Another model began with this:\n{summary_of(4)}")]
    day.turn(4, "compacted", 5)


def gemini(day: Day) -> None:
    """Gemini CLI 0.2: a system prompt of its own, and a second request that checks the first."""
    day.turn(0)
    day.turn(1)
    asked = [*day.history, user(SUM_UP)]
    first, checked = FACTS[0] + FACTS[1], FACTS[0] + FACTS[1] + " The tests are to run next."
    day.ask(first, "side", 2, messages=asked, prompt=WRITER, tools=None)
    asked = [*asked, assistant(first), user("Is anything missing? Give all of it once more.")]
    day.ask(checked, "side", 2, messages=asked, prompt=WRITER, tools=None)
    day.history = [user(checked), assistant("Got it. Thanks for the additional context!")]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)


def gemini_under_one_prompt(day: Day) -> None:
    """The same under the system prompt and the tools of the conversation."""
    day.turn(0)
    day.turn(1)
    asked = [*day.history, user(SUM_UP)]
    first, checked = FACTS[0] + FACTS[1], FACTS[0] + FACTS[1] + " The tests are to run next."
    day.ask(first, "side", 2, messages=asked)
    day.ask(checked, "side", 2, messages=[*asked, assistant(first), user("Is anything missing? Give all of it again.")])
    day.history = [user(checked), assistant("Got it. Thanks for the additional context!")]
    day.turn(2, "compacted", 2)


def opencode(day: Day) -> None:
    """OpenCode 1.0: the summary is a message of the assistant, from under another system prompt."""
    day.turn(0)
    day.turn(1)
    day.ask(summary_of(2), "side", 2, messages=[*day.history, user(SUM_UP)], prompt=WRITER, tools=None)
    day.history = [user("What did we do so far?"), assistant(summary_of(2)), user("Go on if there is more to do.")]
    day.ask(ANSWERS[2], "compacted", 2)
    day.history = [*day.history, assistant(ANSWERS[2])]
    day.turn(3, "compacted", 2)
    day.ask(summary_of(4), "side", 5, messages=[*day.history, user(SUM_UP)], prompt=WRITER, tools=None)
    day.history = [user("What did we do so far?"), assistant(summary_of(4)), user("Go on if there is more to do.")]
    day.ask(ANSWERS[4], "compacted", 5)


def opencode_under_one_prompt(day: Day) -> None:
    """The same under the system prompt and the tools of the conversation."""
    day.turn(0)
    day.turn(1)
    day.inside(summary_of(2), 2)
    day.history = [user("What did we do so far?"), assistant(summary_of(2)), user("Go on if there is more to do.")]
    day.ask(ANSWERS[2], "compacted", 2)
    day.history = [*day.history, assistant(ANSWERS[2])]
    day.turn(3, "compacted", 2)


def pi(day: Day) -> None:
    """Pi 0.6: the history as a text; the second request has the summary before, and the last turns stay."""
    day.turn(0)
    day.turn(1)
    day.apart(FACTS[0] + FACTS[1], 2)
    day.history = [user(f"It was summed up as:\n{FACTS[0]}{FACTS[1]}"), user(TASKS[1]), assistant(ANSWERS[1])]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)
    day.apart(FACTS[0] + FACTS[1] + FACTS[2], 4, f"<before>\n{FACTS[0]}{FACTS[1]}\n</before>")
    day.history = [user(f"It was summed up as:\n{FACTS[0]}{FACTS[1]}{FACTS[2]}"), user(TASKS[3]), assistant(ANSWERS[3])]
    day.turn(4, "compacted", 5)
    day.turn(5, "compacted", 5)


def rolling(day: Day) -> None:
    """Five summaries, each the one before with a sentence more."""
    before = None
    day.turn(0)
    for number in range(1, 6):
        parent = len(day.lines)
        day.inside(" ".join(FACTS[: number + 1]), parent)
        day.history = [user(f"Memory:\n{' '.join(FACTS[: number + 1])}")]
        day.turn(number, "compacted", parent)
        assert before is None or before


def rolling_messages(day: Day) -> None:
    """Five summaries; each new history begins with all those before it, as messages of their own."""
    day.turn(0)
    for number in range(1, 6):
        parent = len(day.lines)
        day.inside(FACTS[number], parent)
        day.history = [user(f"Memory:\n{each}") for each in FACTS[1 : number + 1]]
        day.turn(number, "compacted", parent)


def rolling_text(day: Day) -> None:
    """Five summaries; each new history begins with all those before it in one text."""
    day.turn(0)
    for number in range(1, 6):
        parent = len(day.lines)
        day.inside(FACTS[number], parent)
        day.history = [user("Memory:\n" + "\n".join(FACTS[1 : number + 1]))]
        day.turn(number, "compacted", parent)


def one_sentence(day: Day) -> None:
    """Summaries of one length that differ in one sentence; the first prompt stays."""
    first, second = " ".join(FACTS[:3]), " ".join([*FACTS[:2], FACTS[3]])
    day.turn(0)
    day.turn(1)
    day.inside(first, 2)
    day.history = [user(TASKS[0]), user(first)]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)
    day.inside(second, 5)
    day.history = [user(TASKS[0]), user(second)]
    day.turn(2, "compacted", 5)
    day.turn(4, "compacted", 5)


def quoting(day: Day) -> None:
    """A summary that contains the last replies word by word."""
    summary = f"{summary_of(2)}\n4. What was said last:\n{ANSWERS[0]}\n{ANSWERS[1]}"
    day.turn(0)
    day.turn(1)
    day.inside(summary, 2)
    day.history = [user(f"Notes:\n{summary}")]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)


def checked(day: Day) -> None:
    """No compaction: a question of the client, under its own prompt, quotes the last reply."""
    for number in range(3):
        day.turn(number)
        day.ask(
            "Yes.", "side", 1, messages=[user(f"Is this all?\n{day.history[-1]['content']}")], prompt=WRITER, tools=None
        )


def cut(day: Day) -> None:
    """The client cuts the summary to its half."""
    day.turn(0)
    day.turn(1)
    day.inside(summary_of(2), 2)
    day.history = [user("Notes:\n" + summary_of(2)[: len(summary_of(2)) // 2] + " ... (truncated)")]
    day.turn(2, "compacted", 2)
    day.turn(3, "compacted", 2)


def rewound(day: Day) -> None:
    """After a compaction the person takes back the first prompt: a branch of the same conversation."""
    day.turn(0)
    day.turn(1)
    day.inside(summary_of(2), 2)
    day.history = [user(f"Notes:\n{summary_of(2)}")]
    day.turn(3, "branch", 5)
    day.history = [user(f"Notes:\n{summary_of(2)}")]
    day.turn(2, "compacted", 2)
    day.turn(4, "compacted", 2)


CLIENTS = [
    claude,
    claude_within_a_turn,
    claude_between_turns,
    codex,
    gemini,
    gemini_under_one_prompt,
    opencode,
    opencode_under_one_prompt,
    pi,
    rolling,
    rolling_messages,
    rolling_text,
    one_sentence,
    quoting,
    checked,
    cut,
    rewound,
]


def merged(line: Any) -> Any:
    """A request in which messages of one role are one, as the clients of Anthropic and Gemini send them."""
    messages: list[Any] = []
    for each in line["request"]["messages"]:
        if messages and each["role"] == messages[-1]["role"] == "user":
            messages[-1]["content"].append({"type": "text", "text": each["content"]})
        elif each["role"] == "user":
            messages.append({"role": "user", "content": [{"type": "text", "text": each["content"]}]})
        else:
            messages.append(each)
    return {**line, "request": {**line["request"], "messages": messages}}


def wide(line: Any) -> Any:
    """A line with an ideograph for each word, and no space between them."""
    script = re.compile(r" ?([A-Za-z]+) ?")

    def said(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: said(each) if key != "role" else each for key, each in value.items()}
        if isinstance(value, list):
            return [said(each) for each in value]
        if not isinstance(value, str):
            return value
        return script.sub(lambda word: chr(0x4E00 + crc32(word[1].encode()) % 8000), value)

    request, response = line["request"], line["response"]
    choices = [{**each, "message": said(each["message"])} for each in response["choices"]]
    return {
        **line,
        "request": {**request, "messages": said(request["messages"])},
        "response": {**response, "choices": choices},
    }


WAYS: dict[str, dict[str, Any]] = {
    "one id": {},
    "chained": {"sessions_by": "chain"},
    "no ids": {"sessions_by": "chain"},
    "new ids": {"sessions_by": "chain"},
    "new files": {"sessions_by": "chain"},
    "merged": {},
    "merged under new ids": {"sessions_by": "chain"},
    "without spaces": {},
    "an id for each request": {"sessions_by": "chain"},
}
WITHOUT_HISTORY = (pi, checked, rewound)
"""Those of which requests under an id of their own have no reply before them as a message."""


@pytest.mark.parametrize(
    ("way", "client"),
    [
        pytest.param(way, client, id=f"{way}-{client.__name__}")
        for way in WAYS
        for client in CLIENTS
        if way != "an id for each request" or client not in WITHOUT_HISTORY
    ],
)
def test_what_follows_a_summary_is_compacted(here: Path, client: Any, way: str) -> None:
    day = Day(None if way == "no ids" else "s", renews="new" in way)
    client(day)
    if "merged" in way:
        day.lines = [*map(merged, day.lines)]
    if way == "without spaces":
        day.lines = [*map(wide, day.lines)]
    if way == "an id for each request":
        day.lines = [{**line, "session_id": f"s{number}"} for number, line in enumerate(day.lines)]
    names = [str(each.get("session_id")) if way == "new files" else "log" for each in day.lines]
    for name in names:
        write_log(
            Path(f"logs/{name}.jsonl"), *(line for line, its in zip(day.lines, names, strict=True) if its == name)
        )
    convert("logs", "out", Options(conversations="all", trace_replies=True, loss="weight", **WAYS[way]))
    replies = [*map(json.loads, Path("out/reports/replies.jsonl").read_text().splitlines())]
    assert len({each["session"] for each in replies}) == 1
    assert [each["kind"] for each in replies] == day.kinds
    conversation = {line: each["conversation"] for line, each in enumerate(replies, 1)}
    parents = [each["parent"] for each in replies]
    assert parents == [parent and conversation[parent] for parent in day.parents]
    assert [each["loss"] for each in replies] == [1] * len(replies)


def interleaved(client: Any, word: str) -> None:
    """The log of two persons with almost the same day, and ids of their own."""
    days = Day("a", renews=True), Day("b", renews=True)
    for day in days:
        client(day)
    for one, other in zip(*(day.lines for day in days), strict=True):
        other["session_id"] = f"b {other['session_id']}"
    other = json.loads(json.dumps(days[1].lines).replace("export.py", word).replace("reader.py", f"new_{word}"))
    write_log(Path("log.jsonl"), *(line for pair in zip(days[0].lines, other, strict=True) for line in pair))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
def test_days_that_are_alike_are_sessions_of_their_own(here: Path, client: Any) -> None:
    interleaved(client, "output.py")
    convert("log.jsonl", "out", Options(conversations="all", trace_replies=True, sessions_by="chain"))
    replies = [*map(json.loads, Path("out/reports/replies.jsonl").read_text().splitlines())]
    replies.sort(key=lambda each: each["line"])
    sessions = [each["session"] for each in replies]
    assert (len(set(sessions[::2])), len(set(sessions[1::2])), len(set(sessions))) == (1, 1, 2)
    assert [each["kind"] for each in replies[::2]] == [each["kind"] for each in replies[1::2]]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
def test_days_that_are_equal_are_not_mixed(here: Path, client: Any) -> None:
    interleaved(client, "export.py")
    convert("log.jsonl", "out", Options(conversations="all", trace_replies=True, sessions_by="chain"))
    replies = [*map(json.loads, Path("out/reports/replies.jsonl").read_text().splitlines())]
    lines: dict[str, set[int]] = {}
    for each in replies:
        lines.setdefault(each["session"], set()).add(each["line"] % 2)
    assert {len(each) for each in lines.values()} == {1}
