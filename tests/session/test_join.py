"""A gateway's log and the agent's own file of the same session, joined: each reply once, with the best of both."""

from collections import Counter

import orjson
import pytest

from chatsquash import Options, convert
from chatsquash.conversion.shards.divide import divide
from chatsquash.core.errors import UsageError
from chatsquash.session.cleaning import CleanedRequest
from chatsquash.trees.replies import Requests
from tests.conftest import write_log
from tests.outputs import findings, report

SYSTEM = "You are a careful engineer."
TOOLS = [{"name": "Bash", "description": "Run.", "input_schema": {"type": "object", "properties": {}}}]


def text(words):
    return {"type": "text", "text": words}


def call(call_id, name="Bash", **given):
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id, words, **more):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": words, **more}]}


def asks(words):
    return {"role": "user", "content": words}


def says(*blocks):
    return {"role": "assistant", "content": list(blocks)}


class Gateway:
    """Logs requests in the form of Anthropic."""

    def __init__(self, session="gw"):
        self.lines = []
        self.session = session

    def ask(self, messages, name, *blocks, system=SYSTEM, tools=TOOLS):
        at = f"2026-02-01T12:00:{len(self.lines):02}Z"
        request = {"model": "claude-x", "max_tokens": 1000, "system": system, "tools": tools, "messages": messages}
        response = {
            "id": name, "type": "message", "role": "assistant", "model": "claude-x", "content": list(blocks),
            "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5},
        }  # fmt: skip
        self.lines.append(
            {"session_id": self.session, "timestamp": at, "request": request, "response": {**response, "id": name}}
        )
        return [*messages, {"role": "assistant", "content": list(blocks)}]


class Agent:
    """Writes lines as Claude Code does."""

    def __init__(self, session="s1"):
        self.lines = []
        self.session = session

    def add(self, parent, message, name=None, **more):
        key = f"k{len(self.lines)}"
        if name:
            message = {**message, "id": name, "model": "claude-x", "usage": {"input_tokens": 10, "output_tokens": 5}}
        self.lines.append(
            {
                "sessionId": self.session,
                "uuid": key,
                "parentUuid": parent,
                "type": message["role"],
                "timestamp": f"2026-02-01T12:01:{len(self.lines):02}Z",
                "message": message,
                **more,
            }
        )
        return key


HELLO, LEFT = (
    text("Hello, what shall we build today?"),
    text("An answer that the user left behind, since it was wrong."),
)
TASK, RUN = (
    call("toolu_0123456789abcdef", "Task", prompt="Look around."),
    call("toolu_fedcba9876543210", command="pytest"),
)
THOUGHT = {"type": "thinking", "thinking": "They want a clock.", "signature": "sig"}


def both(here, *, ids=True, tail=True):
    """A session with a branch, a sub-agent that the gateway did not see, and an end that it did not see either."""
    gateway, agent = Gateway(), Agent()

    def named(name):
        return name if ids else f"gateway-{name}"

    begun = gateway.ask([asks("hi")], named("m1"), THOUGHT, HELLO)
    gateway.ask([*begun, asks("a wrong turn")], named("m2"), LEFT)
    called = gateway.ask([*begun, asks("go on")], named("m3"), TASK)
    told = [*called, result(TASK["id"], "Found the clock.")]
    ran = gateway.ask(told, named("m4"), RUN)
    gateway.ask([*ran, result(RUN["id"], "1 failed")], named("m5"), text("It fails as the gateway says."))
    k0 = agent.add(None, asks("hi"))
    k1 = agent.add(k0, says(HELLO), "m1")
    k2 = agent.add(k1, asks("a wrong turn"))
    agent.add(k2, says(LEFT), "m2")
    k4 = agent.add(k1, asks("go on"))
    k5 = agent.add(k4, says(TASK), "m3")
    side = {"isSidechain": True, "agentId": "g1"}
    g0 = agent.add(None, asks("Look around."), **side)
    agent.add(g0, says(text("Found the clock.")), "g-1", **side)
    k8 = agent.add(k5, result(TASK["id"], "Found the clock."), toolUseResult={"agentId": "g1"})
    k9 = agent.add(k8, says(RUN), "m4")
    k10 = agent.add(k9, result(RUN["id"], "1 failed", is_error=True))
    k11 = agent.add(
        k10, says(text("It fails as the agent's file says." if ids else "It fails as the gateway says.")), "m5"
    )
    if tail:
        k12 = agent.add(k11, asks("mend it"))
        agent.add(k12, says(text("It is mended now, and all tests pass.")), "m6")
    write_log(here / "logs/gateway.jsonl", *gateway.lines)
    write_log(here / "logs/projects/p/s1.jsonl", *agent.lines)
    return gateway, agent


def run(**options):
    return convert("logs", "out", Options(**{"anonymize": False, "join": True, "trace_replies": True, **options}))


def records(here):
    paths = sorted(here.glob("out/*.jsonl"))
    return [orjson.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def said(record):
    return [
        message.get("content") or [call["function"]["name"] for call in message.get("tool_calls", ())]
        for message in record["messages"]
    ]


MAIN = [
    SYSTEM,
    "hi",
    HELLO["text"],
    "go on",
    ["Task"],
    "Found the clock.",
    ["Bash"],
    "1 failed",
    "It fails as the gateway says.",
    "mend it",
    "It is mended now, and all tests pass.",
]


@pytest.mark.parametrize("ids", [True, False])
def test_a_session_has_the_best_of_both(here, ids):
    both(here, ids=ids)
    summary = run()
    assert (summary.written, summary.joined, summary.left_out.total(), summary.filtered.total()) == (1, 3, 0, 0)
    (record,) = records(here)
    assert said(record) == MAIN
    assert [tool["name"] for tool in record["tools"]] == ["Bash"]
    assert record["messages"][2]["reasoning_content"] == "They want a clock."
    rows = report("replies.jsonl")
    assert Counter(row["status"] for row in rows) == {"carried": 5, "lost": 2}
    assert summary.replies.total == len(rows) == 7
    assert {row["session"] for row in rows} == {"gw"}
    told = findings("joined-texts")
    assert len(told) == (1 if ids else 0)
    (joined,) = findings("joined")
    assert joined["text"].startswith(
        "joined with 1 agent file, matched by 5 replies in both; 2 replies that the gateway"
    )


def test_the_kinds_are_those_of_the_agents_file(here):
    both(here)
    summary = run(conversations="all")
    assert (summary.written, summary.joined) == (1, 3)
    rows = report("replies.jsonl")
    by_kind = Counter((row["kind"], row["file"]) for row in rows)
    assert by_kind == {
        ("main", "logs/gateway.jsonl"): 4,
        ("branch", "logs/gateway.jsonl"): 1,
        ("subagent", "logs/projects/p/s1.jsonl"): 1,
        ("main", "logs/projects/p/s1.jsonl"): 1,
    }
    ids = {row["kind"]: row["conversation"] for row in rows}
    assert {row["parent"] for row in rows if row["kind"] == "subagent"} == {ids["main"]}
    assert len(records(here)) == 3


@pytest.mark.parametrize(
    "options",
    [{"workers": 2}, {"sessions_by": "id"}, {"duplicates": "prefix"}, {"format": "jsonl"}, {"redact": "secrets,paths"}],
    ids=str,
)
def test_it_is_the_same_however_it_is_run(here, options):
    both(here)
    summary = run(**options)
    assert (summary.sessions, summary.written, summary.joined) == (4, 1, 3)
    assert summary.replies.total == len(report("replies.jsonl")) == 7
    found = [orjson.loads(line) for path in here.glob("out/**/*.jsonl") for line in path.read_bytes().splitlines()]
    (record,) = [each for each in found if "messages" in each]
    assert said(record) == MAIN


def test_a_file_that_changed_is_joined_anew(here):
    _, agent = both(here)
    run()
    assert run().unchanged
    last = agent.add(f"k{len(agent.lines) - 1}", asks("thanks"))
    agent.add(last, says(text("You are welcome, it was a pleasure.")), "m7")
    write_log(here / "logs/projects/p/s1.jsonl", *agent.lines)
    summary = run(replace=True)
    assert (summary.written, summary.replies.total) == (1, 8)
    assert said(records(here)[0])[-1] == "You are welcome, it was a pleasure."


def test_what_the_gateway_did_not_answer_is_told_by_the_agent(here):
    """A line without a response, and one that is gone: the later requests hold what was said."""
    gateway, _ = both(here)
    gateway.lines[2]["response"] = None
    del gateway.lines[3]
    write_log(here / "logs/gateway.jsonl", *gateway.lines)
    summary = run()
    assert said(records(here)[0]) == MAIN
    assert summary.replies.total == len(report("replies.jsonl")) == 7
    assert Counter(row["status"] for row in report("replies.jsonl")) == {"carried": 5, "lost": 2}
    assert Counter(row["file"] for row in report("replies.jsonl")) == {
        "logs/gateway.jsonl": 3,
        "logs/projects/p/s1.jsonl": 4,
    }


def test_the_model_of_a_reply_is_that_of_the_file_that_has_it(here):
    """The gateway does not have the last reply, which is from another model."""
    _, agent = both(here)
    agent.lines[-1]["message"]["model"] = "small"
    write_log(here / "logs/projects/p/s1.jsonl", *agent.lines)

    def flags():
        return [each["weight"] for each in records(here)[0]["messages"] if each["role"] == "assistant"]

    run(loss="weight")
    every = flags()
    run(loss="weight", loss_model=("claude-*",), replace=True)
    assert (every[-1], flags()) == (1, [*every[:-1], 0])
    run(loss="weight", loss_model=("small",), replace=True)
    assert flags() == [*[0 for _ in every[:-1]], 1]


def test_a_result_that_failed_is_told_by_the_agent(here):
    both(here)
    run()
    assert [each["message"] for each in findings("tool-result-failed")] == [7]


def test_an_exit_code_that_the_agent_alone_has(here):
    _, agent = both(here)
    failed = next(line for line in agent.lines if "is_error" in str(line))
    failed["message"]["content"][0]["content"] = "1 failed\nProcess exited with code 1"
    write_log(here / "logs/projects/p/s1.jsonl", *agent.lines)
    run()
    (row,) = [row for row in report("sessions.jsonl") if row["record"]]
    assert row["exit"] == 1
    assert row["exit_evidence"].endswith("from the agent's file")


def test_replies_that_another_session_of_the_gateway_has_are_not_added(here):
    """An agent's session that went over two of the gateway's is joined with the one that has more of it."""
    gateway, _ = both(here)
    other = Gateway("other")
    other.ask([asks("mend it")], "m6", text("It is mended now, and all tests pass."))
    write_log(here / "logs/gateway.jsonl", *gateway.lines)
    write_log(here / "logs/other.jsonl", *other.lines)
    summary = run()
    assert (summary.written, summary.joined) == (2, 3)
    assert summary.replies.total == len(report("replies.jsonl")) == 7
    assert sorted(map(len, map(said, records(here)))) == [3, 9]


def test_sessions_of_equal_words_are_not_mixed(here):
    """Two runs of one task say the same; nothing tells which of them an agent's file without ids is of."""
    both(here, ids=False)
    log = here / "logs/gateway.jsonl"
    twin = [{**orjson.loads(line), "session_id": "twin"} for line in log.read_bytes().splitlines()]
    for number, line in enumerate(twin):
        line["response"]["id"] = f"twin-{number}"
        for block in line["response"]["content"]:
            block.pop("id", None)
    write_log(here / "logs/twin.jsonl", *twin)
    summary = run()
    assert summary.sessions == summary.written + summary.joined + summary.filtered.total() + summary.left_out.total()
    assert summary.replies.total == len(report("replies.jsonl"))


@pytest.mark.parametrize("logged", ["the first question", "the second question"])
def test_the_same_words_are_told_apart_by_what_they_answer(here, logged):
    """The gateway logged one of two replies that say the same, and no id tells which."""
    gateway, agent = Gateway(), Agent()
    again = text("This is an answer that fits many questions.")
    agent.add(agent.add(None, asks("the first question")), says(again), "a1")
    agent.add(agent.add(None, asks("the second question")), says(again), "a2")
    gateway.ask([asks(logged)], "g1", again)
    write_log(here / "logs/gateway.jsonl", *gateway.lines)
    write_log(here / "logs/s1.jsonl", *agent.lines)
    summary = run(conversations="all")
    assert summary.replies.total == 2
    asked = [
        message["content"] for record in records(here) for message in record["messages"] if message["role"] == "user"
    ]
    assert sorted(asked) == ["the first question", "the second question"]


def test_short_words_join_nothing(here):
    gateway, agent = Gateway(), Agent()
    gateway.ask([asks("hi")], "g1", text("Done."))
    agent.add(agent.add(None, asks("hello")), says(text("Done.")), "a1")
    write_log(here / "logs/gateway.jsonl", *gateway.lines)
    write_log(here / "logs/s1.jsonl", *agent.lines)
    assert run().joined == 0


def test_a_sub_agent_with_a_file_of_its_own(here):
    _, agent = both(here)
    own = [line for line in agent.lines if line.get("isSidechain")]
    write_log(here / "logs/projects/p/s1.jsonl", *[line for line in agent.lines if not line.get("isSidechain")])
    write_log(here / "logs/projects/p/s1/subagents/agent-g1.jsonl", *own)
    summary = run(conversations="all")
    assert (summary.written, summary.joined) == (1, 3)
    rows = report("replies.jsonl")
    main = next(row["conversation"] for row in rows if row["kind"] == "main")
    (row,) = [row for row in rows if row["kind"] == "subagent"]
    assert (row["parent"], row["file"]) == (main, "logs/projects/p/s1/subagents/agent-g1.jsonl")


@pytest.mark.parametrize(
    "options", [{"samples": "reply", "preset": "chat"}, {"pairs": "logged", "preset": "hf", "format": "jsonl"}], ids=str
)
def test_samples_and_pairs_are_made_of_both(here, options):
    both(here)
    summary = run(**options)
    assert summary.joined == 3
    if "samples" in options:
        ends = [said(record)[-1] for record in records(here)]
        assert "It is mended now, and all tests pass." in ends
        assert "It fails as the gateway says." in ends
        assert len(ends) == 5


def test_a_session_that_is_out_of_order(here):
    gateway, _ = both(here)
    lines = gateway.lines
    write_log(here / "logs/gateway.jsonl", lines[1], lines[0], *lines[2:])
    summary = run()
    assert (summary.written, summary.joined) == (1, 3)
    assert said(records(here)[0]) == MAIN


def test_shards_cannot_be_joined(here):
    both(here)
    with pytest.raises(UsageError, match="--join cannot be used with shards"):
        divide("logs", "out", Options(join=True, anonymize=False), 2)


def test_without_the_option_both_are_sessions(here):
    both(here)
    summary = run(join=False)
    assert summary.joined == 0
    assert summary.written > 1


def test_cleaning_looks_at_each_message_of_an_agent_once(here, monkeypatch):
    """The agent alone has all replies but the first, each of which goes on from all before it."""
    gateway, agent = Gateway(), Agent()
    words = [f"This is answer {number}, which is long enough." for number in range(50)]
    gateway.ask([asks("prompt 0")], "m0", text(words[0]))
    parent = None
    for number, each in enumerate(words):
        parent = agent.add(agent.add(parent, asks(f"prompt {number}")), says(text(each)), f"m{number}")
    write_log(here / "logs/gateway.jsonl", *gateway.lines)
    write_log(here / "logs/s1.jsonl", *agent.lines)
    looked = []
    real = CleanedRequest._are_plain

    def look(self, messages):
        looked.append(len(messages))
        return real(self, messages)

    monkeypatch.setattr(CleanedRequest, "_are_plain", look)
    assert run().replies.total == 50
    assert sum(looked) < 800


def test_a_request_that_has_every_other_reply_of_an_agent_takes_linear_time(here, monkeypatch):
    gateway, agent = Gateway(), Agent()
    words = [f"This is answer {number}, which is long enough." for number in range(50)]
    parent, asked = None, []
    for number, each in enumerate(words):
        parent = agent.add(agent.add(parent, asks(f"prompt {number}")), says(text(each)), f"m{number}")
        said = each if number % 2 else f"This is another wording of answer {number}."
        asked += [asks(f"prompt {number}"), says(text(said))]
    gateway.ask(asked[:-1], "m49", text(words[-1]))
    write_log(here / "logs/gateway.jsonl", *gateway.lines)
    write_log(here / "logs/s1.jsonl", *agent.lines)
    looked = []
    real = Requests._extend

    def look(self, at, known, messages, meet):
        looked.append(len(messages))
        return real(self, at, known, messages, meet)

    monkeypatch.setattr(Requests, "_extend", look)
    assert run().replies.total == 50
    assert sum(looked) < 800
