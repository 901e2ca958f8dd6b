"""Sessions whose lines stand in several files, or share one, by what continues what."""

import gc
import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.core.index import Index, Sets
from chatsquash.core.log import Log
from chatsquash.inspect.inspect import inspect
from chatsquash.results.verify import verify
from chatsquash.session.chains import ChainedLogs
from chatsquash.sources.open import open_file
from tests.conftest import assistant, cases, log_line, tree, user, write_log

CHAIN = Options(sessions_by="chain", conversations="all", trace_replies=True)
ASKED = "Which of the tests in tests/test_sum.py fails on the new machine?"
SAID = "Only test_sum fails there; all others pass as they did before."
NEXT = "Mend it, and say in one line what the cause was."
DONE = "The loop began at one; it begins at nothing now."
HISTORY = (user(ASKED), assistant(SAID), user(NEXT))
WHOLE = [ASKED, SAID, NEXT, DONE]


def line(minute: int | None, *messages: Any, reply: Any = SAID, session: str | None = None, **fields: Any) -> Any:
    at = None if minute is None else f"2026-01-13T10:{minute:02}:00Z"
    made = log_line(*messages, reply=reply, at=at, session_id=session, **fields)
    if session is None:
        del made["session_id"]
    if reply:
        made["response"]["id"] = f"response to {len(messages)}: {reply}"
    return made


def first(minute: int | None = 1, **fields: Any) -> Any:
    return line(minute, ASKED, **fields)


def second(minute: int | None = 2, **fields: Any) -> Any:
    return line(minute, *HISTORY, reply=DONE, **fields)


def put(files: dict[str, list[Any]]) -> None:
    for name, lines in files.items():
        write_log(Path("logs") / f"{name}.jsonl", *lines)


def said(out: str = "out") -> list[list[str]]:
    """What each record says, message by message."""
    lines = (line for path in sorted(Path(out).glob("*.jsonl")) for line in path.read_text().splitlines())
    return [[each["content"] for each in json.loads(line)["messages"]] for line in lines]


def findings(out: str = "out") -> list[dict[str, Any]]:
    return [*map(json.loads, Path(f"{out}/reports/findings.jsonl").read_text().splitlines())]


def replies() -> list[dict[str, Any]]:
    return [*map(json.loads, Path("out/reports/replies.jsonl").read_text().splitlines())]


JOINED: list[tuple[str, dict[str, list[Any]]]] = [
    ("one exchange a file", {"a": [first()], "b": [second()]}),
    ("files in another order than their times", {"b": [first()], "a": [second()]}),
    ("no line has a time", {"a": [first(None)], "b": [second(None)]}),
    ("an id that goes on in another file", {"a": [first(session="s")], "b": [second(session="s")]}),
    ("resumed under another id", {"a": [first(session="s")], "b": [second(session="t")]}),
    ("resumed under another id in the same file", {"a": [first(session="s"), second(session="t")]}),
    ("one with an id and one without", {"a": [first(session="s")], "b": [second()]}),
    ("an exchange in two files", {"a": [first(), second()], "b": [first()]}),
    ("lines that stand in another order than their times", {"a": [second(), first()]}),
]


@pytest.mark.parametrize("sentence, files", JOINED, ids=[row[0] for row in JOINED])
def test_what_goes_on_from_another_is_of_its_session(here, sentence, files):
    put(files)
    summary = convert("logs", "out", CHAIN)
    assert (summary.sessions, said()) == (1, [WHOLE])
    assert [each["status"] for each in replies()].count("carried") == 2
    assert {each["conversation"] for each in replies()} == {replies()[0]["conversation"]}
    assert verify(Path("out"), logs=True).problems == []


APART: list[tuple[str, dict[str, list[Any]], int]] = [
    ("rollouts of one prompt in a file", {"a": [line(at, ASKED, reply=f"{SAID} {at}") for at in range(8)]}, 8),
    ("rollouts of one prompt in files", {f"r{at}": [line(at, ASKED, reply=f"{SAID} {at}")] for at in range(8)}, 8),
    ("two ids that begin alike", {"a": [first(session="s"), first(session="t"), second(session="s")]}, 2),
    ("unrelated requests", {"a": [line(at, f"{ASKED} {at}", reply=f"{SAID} {at}") for at in range(5)]}, 5),
    ("few words that are the same by chance", {"a": [line(1, "hi", reply="yo")], "b": [line(2, "hi", "yo", "bye", reply="x")]}, 2),
]  # fmt: skip


@pytest.mark.parametrize("sentence, files, sessions", APART, ids=[row[0] for row in APART])
def test_what_goes_on_from_nothing_is_a_session(here, sentence, files, sessions):
    put(files)
    assert convert("logs", "out", CHAIN).sessions == sessions
    assert verify(Path("out"), logs=True).problems == []


SUM = "The user wants all tests to pass on the new machine. Only test_sum failed, since its loop began at one; it is mended."
TASK = "Find out which of the other tests begin their loops at one, and name their lines."
ASKED_TO_SUM = user(ASKED), assistant(SAID), user("Sum up what was done, for one who takes over.")


def summary(session: str, *, minute: int = 2, reply: str = SUM) -> Any:
    return line(minute, *ASKED_TO_SUM, reply=reply, session=session)


def handed_over(session: str, *, minute: int = 3, text: str = SUM) -> Any:
    return line(minute, f"Notes of an earlier talk:\n{text}", reply="I look at the other tests.", session=session)


def calling(session: str) -> Any:
    call = {"id": "c1", "type": "function", "function": {"name": "task", "arguments": json.dumps({"prompt": TASK})}}
    return line(1, ASKED, reply={"role": "assistant", "content": None, "tool_calls": [call]}, session=session)


OTHER = "Describe the pages of the manual that nobody has read since it was printed."
QUOTED = f"Name this task in four words, as an order:\n<task>\n{ASKED}\n</task>"
TITLE = '{"label": "Find the failing test"}'
SHELL = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object", "properties": {}}}}


def at_work(session: str, minute: int = 2, text: str = ASKED) -> Any:
    """A request with a context before its prompt and with tools, as in recordings of Codex."""
    context = user("<context>The folder is /srv/sums, and the shell is bash.</context>")
    return line(minute, context, user(text), reply=f"{SAID} {minute}", session=session, tools=[SHELL])


def titled(session: str, *, minute: int = 3, text: str = QUOTED, **fields: Any) -> Any:
    """A request for a title under an id of its own, as in recordings of Codex."""
    return with_schema(line(minute, text, reply=TITLE, session=session, **fields))


def with_schema(logged: Any, kind: str = "json_schema") -> Any:
    schema = {"type": kind, "json_schema": {"name": "label", "schema": {"type": "object"}}}
    return {**logged, "request": {**logged["request"], "response_format": schema}}


LINKED: list[tuple[str, list[Any], int, list[str]]] = [
    ("a summary that a new id begins with", [first(session="s"), summary("s"), handed_over("t")], 1, ["main", "side", "compacted"]),
    ("a summary of a history that is one text", [first(session="s"), line(2, f"Sum up:\nQ: {ASKED}\nA: {SAID}", reply=SUM, session="s"), handed_over("t")], 1, ["main", "side", "compacted"]),
    ("a prompt that is an argument of a call", [calling("s"), line(2, TASK, reply="Two of them.", session="t")], 1, ["main", "subagent"]),
    ("the same prompt in three sessions", [first(session="s"), first(session="t"), line(3, ASKED, reply="x", session="u")], 3, ["main"] * 3),
    ("a reply to a single request, which is pasted", [line(1, "Write it down for all of us.", reply=SUM, session="s"), handed_over("t")], 2, ["main"] * 2),
    ("a summary after which its session continued", [first(session="s"), summary("s"), line(3, *ASKED_TO_SUM, assistant(SUM), user("Thanks"), reply="Yes.", session="s"), handed_over("t", minute=4)], 2, ["main"] * 4),
    ("a text that two persons paste", [first(session="s"), line(2, user(ASKED), assistant(SAID), user(f"Spell it right:\n{SUM}"), reply=SUM, session="s"), line(3, f"Translate this:\n{SUM}", reply="Yes.", session="t")], 2, ["main"] * 3),
    ("a title of its own id", [at_work("s"), titled("t")], 1, ["main", "side"]),
    ("a title that is logged before the first reply", [titled("q", minute=1), at_work("s", minute=2)], 1, ["side", "main"]),
    ("a title of a session between others", [at_work("r", 1, OTHER), at_work("s", 2), titled("t"), at_work("u", 4, OTHER)], 3, ["main", "main", "side", "main"]),
    ("a quoted prompt without a schema", [at_work("s"), with_schema(titled("t"), "json_object")], 2, ["main"] * 2),
    ("a schema without a prompt", [at_work("s"), titled("t", text=f"Name this task:\n{OTHER}")], 2, ["main"] * 2),
    ("the same prompt with a schema", [at_work("s"), titled("t", text=ASKED)], 2, ["main"] * 2),
    ("a quoted prompt beside tools", [at_work("s"), titled("t", tools=[SHELL])], 2, ["main"] * 2),
    ("a quoted prompt of a session without tools", [first(session="s"), titled("t")], 2, ["main"] * 2),
    ("a session that goes on after a quoted prompt", [at_work("s"), titled("t"), line(4, user(QUOTED), assistant(TITLE), user("Shorter, please."), reply="Tests", session="t")], 2, ["main"] * 3),
    ("a short argument", [calling("s"), line(2, "name their lines", reply="Two of them.", session="t")], 2, ["main"] * 2),
]  # fmt: skip


@pytest.mark.parametrize("sentence, lines, sessions, kinds", LINKED, ids=[row[0] for row in LINKED])
@pytest.mark.parametrize("in_files", [False, True])
def test_links_join_sessions_of_different_ids(here, sentence, lines, sessions, kinds, in_files):
    names = [each["session_id"] if in_files else "all" for each in lines]
    put({name: [each for each, its in zip(lines, names, strict=True) if its == name] for name in names})
    assert convert("logs", "out", CHAIN).sessions == sessions
    assert [each["kind"] for each in replies()] == kinds
    assert verify(Path("out"), logs=True).problems == []


def as_responses(logged: Any) -> Any:
    """The same exchange in the bodies of the Responses API."""
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": logged["response"]["choices"][0]["message"]["content"]}],
    }
    asked = logged["request"]
    request = {
        "model": "m",
        "input": asked["messages"],
        "tools": [each["function"] | each for each in asked.get("tools", ())],
    }
    if "response_format" in asked:
        request["text"] = {"format": {"type": "json_schema"} | asked["response_format"]["json_schema"]}
    return {**logged, "request": request, "response": {"object": "response", "status": "completed", "output": [said]}}  # fmt: skip


@pytest.mark.parametrize("written", [lambda each: each, as_responses], ids=["chat", "responses"])
def test_a_title_that_is_asked_for_under_an_id_of_its_own_is_of_the_session_whose_prompt_it_quotes(here, written):
    put({"all": [written(each) for each in (at_work("r", 1, OTHER), at_work("s", 2), titled("t"))]})
    assert convert("logs", "out", CHAIN).sessions == 2
    worked, title = replies()[1:]
    assert (title["kind"], title["session"]) == ("side", worked["session"])


@pytest.mark.parametrize("written", [lambda each: each, as_responses], ids=["chat", "responses"])
def test_a_summary_is_known_although_its_file_is_named_after_the_one_that_continues_from_it(here, written):
    put({"b": [first(session="s"), summary("s")], "a": [handed_over("t")]})
    for name in "ab":
        path = Path(f"logs/{name}.jsonl")
        write_log(path, *(written(json.loads(each)) for each in path.read_text().splitlines()))
    assert convert("logs", "out", CHAIN).sessions == 1
    assert {each["kind"] for each in replies()} == {"main", "side", "compacted"}


def test_rollouts_with_several_turns_that_share_a_file_are_taken_apart(here):
    begun = [line(at, ASKED, reply=f"{SAID} {at}") for at in range(8)]
    ended = [line(10 + at, user(ASKED), assistant(f"{SAID} {at}"), user(NEXT), reply=f"{DONE} {at}") for at in range(8)]
    put({"a": [*begun, *reversed(ended)]})
    assert convert("logs", "out", CHAIN).sessions == 8
    assert said() == [[ASKED, f"{SAID} {at}", NEXT, f"{DONE} {at}"] for at in range(8)]


def test_reports_name_the_file_of_each_line(here):
    put({"a": [first(), b"{broken"], "b": [b"", second(), b"[1]", line(4, ASKED, reply=None)]})
    convert("logs", "out", CHAIN)
    places = [(each["file"], each["line"]) for each in findings() if each["code"].startswith("bad-")]
    assert places == [("logs/a.jsonl", 2), ("logs/b.jsonl", 3)]
    assert [(each["file"], each["line"]) for each in replies()] == [("logs/a.jsonl", 1), ("logs/b.jsonl", 2)]
    rejected = [*map(json.loads, Path("out/reports/rejected.jsonl").read_text().splitlines())]
    for each in rejected:
        data = Path(each["file"]).read_bytes()
        assert data[each["offset"] :].startswith((b"{broken", b"[1]"))


def test_rejected_lines_are_copied_from_the_file_that_has_them(here):
    put({"a": [first(), b"{broken a"], "b": [second(), b"{broken b"]})
    convert("logs", "out", Options(sessions_by="chain", keep_rejected=True))
    assert Path("out/reports/rejected-lines.jsonl").read_bytes() == b"{broken a\n{broken b\n"


def test_texts_of_findings_name_files_of_lines(here):
    other = line(3, user("Something else, of which nobody spoke before."), reply="Not that.", session="s")
    put({"a": [first(session="s"), second(session="s")], "b": [other]})
    convert("logs", "out", Options(sessions_by="chain"))
    texts = [each["text"] for each in findings() if each["code"] == "short-tail"]
    assert texts
    assert "line 1 of logs/b.jsonl" in texts[0]
    assert "line 2 of logs/a.jsonl" in texts[0]


def test_compressed_files_that_share_sessions_are_read_from_their_places(here):
    names = "xyz"
    lines = [line(at, f"{ASKED} {name}", reply=f"{SAID} {name}") for at, name in enumerate(names)]
    more = [
        line(10 + at, user(f"{ASKED} {name}"), assistant(f"{SAID} {name}"), user(NEXT), reply=f"{DONE} {name}")
        for at, name in enumerate(names)
    ]
    for name, held in (("a", lines), ("b", more)):
        path = write_log(Path("logs") / f"{name}.jsonl", *held)
        path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert convert("logs", "out", CHAIN).sessions == 3
    assert [record[-1] for record in said()] == [f"{DONE} {name}" for name in names]
    assert not list(Path("out/.chatsquash").glob("expanded/*"))
    assert verify(Path("out"), logs=True).problems == []


def test_the_number_of_workers_and_a_second_run_change_nothing(here):
    put({f"f{at:02}": [line(at, f"{ASKED} {at}", reply=f"{SAID} {at}"), second(at + 20)] for at in range(20)})
    convert("logs", "one", CHAIN)
    convert("logs", "two", Options(**{**_given(CHAIN), "workers": 2}))
    assert {name: data for name, data in tree(Path("one")).items() if name.endswith("l")} == {
        name: data for name, data in tree(Path("two")).items() if name.endswith("l")
    }
    assert convert("logs", "one", CHAIN).unchanged
    put({"g": [second(59)]})
    assert convert("logs", "one", CHAIN).reused > 0


def _given(options: Options) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("sessions_by", "conversations", "trace_replies")}


def test_documents_are_no_part_of_chains(here):
    put({"a": [first()], "b": [second()]})
    kept = [
        {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "hi"}},
        {"type": "assistant", "uuid": "v", "parentUuid": "u", "sessionId": "s", "message": {"role": "assistant", "content": [{"type": "text", "text": "yo"}]}},
    ]  # fmt: skip
    write_log(Path("logs/claude.jsonl"), *kept)
    convert("logs", "out", Options(sessions_by="chain"))
    assert sorted(said()) == sorted([WHOLE, ["hi", "yo"]])


def test_lines_in_memory_are_chained_as_well():
    lines = [json.dumps(each).encode() for each in (first(), line(1, "Something else altogether, please."), second())]
    assert len(convert_session(lines, Options(sessions_by="chain", anonymize=False))) == 2


@pytest.mark.parametrize("by", ["file", "id"])
@pytest.mark.parametrize("conversations", ["main", "all"])
def test_lines_are_taken_in_the_order_of_their_times(here, by, conversations):
    put({"a": [second(session="s"), first(session="s"), line(0, "hi", session="t")][: 3 if by == "id" else 2]})
    convert("logs", "out", Options(sessions_by=by, conversations=conversations))
    assert WHOLE in said()
    told = {each["code"]: each["text"] for each in findings()}
    assert told["reordered"] == "1 line was out of order, so lines are sorted by time"
    assert "timestamp-order" not in told
    assert verify(Path("out"), logs=True).problems == []


def test_compressed_lines_are_put_in_order_as_well(here):
    path = write_log(Path("logs/a.jsonl"), second(session="s"), first(session="s"))
    path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    convert("logs", "out", Options(conversations="all"))
    assert said() == [WHOLE]


def test_by_default_lines_stay_as_they_stand(here):
    put({"a": [second(session="s"), first(session="s")]})
    assert convert("logs", "out").left_out == {"timestamp-order": 1}


@cases(
    "files, text",
    (
        "the id",
        {"a": [first(session="s")], "b": [line(2, NEXT, session="s")]},
        "has the same session_id as logs/a.jsonl",
    ),
    ("the history", {"a": [first(session="s")], "b": [second(session="t")]}, "continues logs/a.jsonl"),
    ("the history, without ids", {"a": [first()], "b": [second()]}, "continues logs/a.jsonl"),
    ("the history of a later file", {"b": [first()], "a": [second()]}, "continues in logs/a.jsonl"),
)
def test_files_that_share_a_session_are_named(here, files, text):
    put(files)
    convert("logs", "out")
    told = [(each["file"], each["text"]) for each in findings() if each["code"] == "divided-session"]
    assert told == [("logs/b.jsonl", f"{text}: --sessions-by chain joins both")]
    convert("logs", "chained", Options(sessions_by="chain"))
    assert "divided-session" not in {each["code"] for each in findings("chained")}


def test_files_that_share_little_are_not_named(here):
    put({"a": [line(1, "hi", reply="yo")], "b": [line(2, user("hi"), assistant("yo"), user(NEXT))]})
    convert("logs", "out")
    assert "divided-session" not in {each["code"] for each in findings()}


def test_what_is_kept_of_a_request_is_small(here):
    with open("log.jsonl", "w", encoding="utf-8") as file:
        for number in range(8_000):
            session, turn = divmod(number, 8)
            asked = [user(f"{ASKED} {session} {each}") for each in range(turn + 1)]
            made = log_line(*asked, reply=f"{SAID} {number}", at=number, session_id=f"s{session}")
            file.write(json.dumps(made) + "\n")
    log = Log("log.jsonl", "log.jsonl", "log.jsonl", Path("log.jsonl").stat().st_size)
    ChainedLogs([log], CHAIN).read()  # what is kept of the first time is not the log's
    tracemalloc.start()
    chained = ChainedLogs([log], CHAIN)
    chained.read()
    gc.collect()  # which takes back the spare tuples of the interpreter, too
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / 8_000 <= 100
    assert sum(1 for _ in chained.sessions()) == 1_000


def test_an_index_holds_what_was_put_in_it_last():
    index = Index()
    for number in range(5000):
        index.put(number * 2**40 + 1, number)
        index.put(number * 2**40 + 1, number + 1)
    assert len(index) == 5000
    assert all(index.get(number * 2**40 + 1) == number + 1 for number in range(5000))
    assert index.get(2) is None


def test_joined_sets_have_one_number():
    sets = Sets()
    for _ in range(4):
        sets.add()
    sets.join(3, 1)
    sets.join(3, 2)
    assert [sets.find(number) for number in range(4)] == [0, 1, 1, 1]


def test_inspect_shows_a_session_with_the_files_of_its_lines(here):
    put({"a": [first()], "b": [second()], "c": [line(3, "Something else altogether, please.")]})
    shown = [*inspect(["logs"], Options(sessions_by="chain"))]
    assert [each for each in shown if ": session " in each] == ["logs/a.jsonl: session a", "logs/c.jsonl: session c"]
    assert shown[1:3] == ["from line 1 on: logs/a.jsonl", "from line 2 on: logs/b.jsonl"]


@pytest.mark.parametrize("by", ["file", "id"])
def test_inspect_takes_lines_in_the_order_of_their_times(here, by):
    put({"a": [second(session="s"), first(session="s")]})
    shown = "\n".join(inspect(["logs"], Options(sessions_by=by, conversations="all")))
    assert "[reordered] 1 line was out of order" in shown


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", 2**63])
def test_times_that_are_far_away_are_times(here, at):
    far = log_line("Another question, of some other day.", reply="Another answer.", at=at)
    put({"a": [first(), second()], "b": [far]})
    assert convert("logs", "out", CHAIN).sessions == 2


def test_files_without_times_go_with_those_before(here):
    put({"a": [first()], "b": [second(None)]})
    convert("logs", "out", Options(sessions_by="chain", conversations="main"))
    assert said() == [WHOLE]


def opened_pieces(monkeypatch) -> list[str]:
    """Return the files that will be opened as pieces of a session, and not as a log by itself."""
    seen: list[str] = []

    def opened(path: str, options: Options, **of_log: bool) -> Any:
        if not of_log:
            seen.append(path)
        return open_file(path, options, **of_log)

    monkeypatch.setattr("chatsquash.sources.open.open_file", opened)
    return seen


def test_each_file_of_a_session_is_opened_once(here, monkeypatch):
    put({f"{number:03}": [line(None, *_turns(number), reply=f"{SAID} {number}")] for number in range(40)})
    seen = opened_pieces(monkeypatch)
    assert convert("logs", "out", Options(sessions_by="chain")).sessions == 1
    assert len(seen) == 40


def _turns(count: int) -> list[Any]:
    """What was said before a reply, so many replies long."""
    before = [each for number in range(count) for each in (user(f"{ASKED} {number}"), assistant(f"{SAID} {number}"))]
    return [*before, user(f"{ASKED} {count}")]


def test_compressed_files_whose_lines_alternate_are_expanded_once(here, monkeypatch):
    for name, numbers in (("a", range(0, 40, 2)), ("b", range(1, 40, 2))):
        lines = [line(number, f"{ASKED} {number}", reply=f"{SAID} {number}", session="s") for number in numbers]
        path = write_log(Path("logs") / f"{name}.jsonl", *lines)
        path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    seen = opened_pieces(monkeypatch)
    assert convert("logs", "out", Options(sessions_by="chain")).sessions == 1
    assert [Path(each).suffix for each in seen] == [".jsonl", ".jsonl"]


def test_what_one_file_has_too_much_of_costs_no_other(here):
    put({"a": [first(), *[b"{x"] * 8], "b": [second(), *[b"{y"] * 3]})
    convert("logs", "out", Options(sessions_by="chain", max_rejected=4))
    assert said() == [WHOLE]
    cut = [each for each in findings() if each["code"] == "cut-short"]
    assert len(cut) == 1
    put({"a": [first(), *[b"{x"] * 4], "b": [*[b"{y"] * 4, second()]})
    convert("logs", "all", Options(sessions_by="chain", max_rejected=4))
    assert said("all") == [WHOLE]
    assert "cut-short" not in {each["code"] for each in findings("all")}


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
@pytest.mark.parametrize("by", [None, "chain"])
def test_a_reply_that_is_logged_after_a_request_with_it_counts_as_that_message(here, conversations, by):
    third = line(4, *HISTORY, assistant(DONE), user(ASKED), reply=NEXT)
    put({"a": [second(1), first(2), third]})
    convert("logs", "out", Options(conversations=conversations, sessions_by=by, trace_replies=True))
    assert said() == [[*WHOLE, ASKED, NEXT]]
    assert [(each["kind"], each["status"], each["message"]) for each in replies()] == [
        ("main", "carried", 3), ("main", "carried", 1), ("main", "carried", 5),
    ]  # fmt: skip
    codes = {each["code"] for each in findings()}
    assert "replies-lost" not in codes


def test_a_reply_that_is_logged_after_requests_with_it_that_were_logged_twice_counts_as_that_message(here):
    put({"a": [second(1), second(2), first(3)]})
    convert("logs", "out", Options(conversations="all", trace_replies=True))
    assert said() == [WHOLE]
    assert [(each["kind"], each["status"]) for each in replies()] == [
        ("retry", "lost"), ("main", "carried"), ("main", "carried"),
    ]  # fmt: skip


@pytest.mark.parametrize("ids", [True, False], ids=["other ids", "no ids"])
@pytest.mark.parametrize("by", ["response", "conversation"])
def test_requests_in_files_of_their_own_that_refer_to_what_the_service_stores_are_one_session(here, by, ids):
    """The members are those of the Responses API in the SDK of OpenAI."""
    said = ["It has two rows, and both have the name of a town.", "They are equal.", "Neither is needed."]
    for number, (asked, text) in enumerate(zip(("What is in rows.csv?", "Do they differ?", "And?"), said, strict=True)):
        request: dict[str, Any] = {"model": "m", "input": [{"role": "user", "content": asked}]}
        if by == "conversation":
            request["conversation"] = {"id": "conv_rows"}
        elif number:
            request["previous_response_id"] = f"resp_{number - 1}"
        output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
        response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": output}
        line = {"timestamp": f"2026-01-13T10:0{number}:00Z", "request": request, "response": response}
        write_log(Path(f"logs/{number}.jsonl"), {**line, "session_id": f"s{number}"} if ids else line)
    convert("logs", "out", Options(sessions_by="chain", conversations="all", trace_replies=True))
    rows = [json.loads(row) for row in Path("out/reports/replies.jsonl").read_text().splitlines()]
    assert len({row["conversation"] for row in rows}) == 1
    assert [row["loss"] for row in rows] == [1, 1, 1]


def test_sessions_of_a_file_that_begin_and_end_alike_have_conversations_of_their_own(here):
    lines = []
    for number in range(3):
        begun = f"This is the answer to it, which is the one of number {number}."
        lines += [line(2 * number, user(ASKED), reply=begun)]
        lines += [line(2 * number + 1, user(ASKED), assistant(begun), user("Thanks."), reply=DONE * 9)]
    put({"a": lines})
    found = []
    for _ in range(2):
        convert("logs", "out", Options(sessions_by="chain", conversations="all", trace_replies=True, replace=True))
        found.append(replies())
    assert len({row["conversation"] for row in found[0]}) == 3
    assert found[0] == found[1]
