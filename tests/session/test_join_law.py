"""Whatever an agent's file tells, and whatever part of it a gateway logged, each reply stands in the tree once."""

import tempfile
from collections import Counter
from contextlib import chdir
from itertools import count
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from chatsquash import Options, convert
from tests.conftest import write_log
from tests.outputs import report
from tests.session.test_join import Agent, Gateway, asks, call, result, says, text

HOWS = ["goes on", "goes on", "compacted", "subagent"]
STEPS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(HOWS), st.booleans(), st.booleans()), min_size=1, max_size=12
)
"""Of each reply: which one it goes on from, how, whether the gateway logged it, and whether it says what others say."""
OPTIONS = st.fixed_dictionaries(
    {
        "conversations": st.sampled_from(["last", "main", "all"]),
        "restore": st.sampled_from(["none", "all"]),
        "loss": st.sampled_from(["none", "weight"]),
        "cleanup": st.sampled_from([(), ("claude-code", "goose")]),
        "sessions_by": st.sampled_from([None, "chain", "id"]),
    }
)


class Both:
    """Writes a session as the agent keeps it, and what of it a gateway logged."""

    def __init__(self, *, ids):
        self.gateway, self.agent, self.ids = Gateway(), Agent(), ids
        self.ends = [(None, [], {})]
        self.names = count()

    def step(self, at, how, logged, alike):
        parent, messages, side = self.ends[at % len(self.ends)]
        words = (
            f"an answer that is the same, {'x' * alike}" if alike else f"an answer of {next(self.names)} that is long"
        )
        if how == "compacted" and parent and not side:
            boundary = {"subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": parent}
            parent = self.agent.add(None, {"role": "system", "content": ""}, **boundary)
            messages = [asks(f"What was done: {next(self.names)} answers were given.")]
            parent = self.agent.add(parent, messages[0], isCompactSummary=True)
        asked = asks(f"prompt {next(self.names)}")
        parent, messages = self.agent.add(parent, asked, **side), [*messages, asked]
        if how == "subagent" and not side:
            self._begin(parent, messages, words, logged=logged)
        else:
            self.ends.append(self._reply(parent, messages, side, text(words), logged=logged))

    def _begin(self, parent, messages, words, *, logged):
        """A reply that sends a sub-agent, which answers once at least."""
        number = next(self.names)
        sent = call(f"toolu_{number:016}", "Task", prompt=f"Look at {number}.")
        parent, messages, _ = self._reply(parent, messages, {}, sent, logged=logged)
        side, prompt = {"isSidechain": True, "agentId": f"g{number}"}, asks(f"Look at {number}.")
        begun = self.agent.add(None, prompt, **side)
        self.ends.append(self._reply(begun, [prompt], side, text(words), logged=not logged))
        answer = result(sent["id"], words)
        parent = self.agent.add(parent, answer, toolUseResult={"agentId": f"g{number}"})
        self.ends.append((parent, [*messages, answer], {}))

    def _reply(self, parent, messages, side, block, *, logged):
        name = f"m{next(self.names)}"
        key = self.agent.add(parent, says(block), name, **side)
        if logged:
            self.gateway.ask(messages, name if self.ids else f"gateway-{name}", block)
        return key, [*messages, says(block)], side


def replies_of(both):
    """The ids of all replies by the files and lines that hold them."""
    files = {"logs/gateway.jsonl": both.gateway.lines, "logs/s1.jsonl": both.agent.lines}
    for name, lines in files.items():
        write_log(Path(name), *lines)
    logged = [line["response"]["id"].removeprefix("gateway-") for line in both.gateway.lines]
    kept = [line["message"].get("id") for line in both.agent.lines]
    numbered = [("logs/gateway.jsonl", *each) for each in enumerate(logged, 1)]
    numbered += [("logs/s1.jsonl", *each) for each in enumerate(kept, 1)]
    return {(file, line): name for file, line, name in numbered if name}


LOOP = [(0, True, True), (0, False, False), (1, False, True), (0, False, True), (8, True, False), (3, False, False)]
"""A gateway's trunk that is a branch in the agent's file, of what is a branch of the gateway's."""


@given(STEPS, st.booleans(), OPTIONS)
@example([(at, "goes on", *more) for at, *more in [*LOOP, (1, False, False), (0, False, False)]], True, {})
def test_each_reply_stands_in_the_tree_once(steps, ids, options):
    both = Both(ids=ids)
    for step in steps:
        both.step(*step)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        names = replies_of(both)
        summary = convert("logs", "out", Options(anonymize=False, join=True, trace_replies=True, **options))
        rows = report("replies.jsonl")
    others = summary.left_out.total() + summary.filtered.total() + summary.duplicates
    assert summary.sessions == summary.written + others + summary.joined
    assert summary.replies.total == len(rows)
    if summary.joined:
        assert Counter(names[row["file"], row["line"]] for row in rows) == Counter(set(names.values()))
