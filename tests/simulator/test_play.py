"""What is played is the same for a seed, readable, and accounted for."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest

from chatsquash import Options, convert_session
from tests.simulator import play
from tests.simulator.behaviours import behaviours, named
from tests.simulator.canonical import Canonical, Written, of_record, squeezed
from tests.simulator.exchanges import exchanges
from tests.simulator.judge import in_order
from tests.simulator.nodes import CLEARED
from tests.simulator.play import LEAST

SEEDS = range(12)
READ = Options(preset="hf", anonymize=False, integrity_analysis=False)


@pytest.mark.parametrize("hard", [False, True])
def test_a_seed_gives_the_same_bytes_and_the_same_truth(hard):
    for seed in SEEDS:
        assert play(seed, hard) == play(seed, hard)
    assert play(1, hard).files != play(2, hard).files


DIGEST = """
from hashlib import sha256
from tests.simulator import play
print(sha256(repr([(*play(seed, True).files.items(), *play(seed, True).truth.conversations) for seed in range(6)]).encode()).hexdigest())
"""


def test_a_seed_gives_the_same_in_every_process():
    told = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
    assert len(told.pop()) > 60


def test_files_are_in_the_order_of_their_names():
    for seed in SEEDS:
        assert list(play(seed).files) == sorted(play(seed).files)


def test_a_name_that_no_behaviour_has_is_an_error_that_names_those_there_are():
    with pytest.raises(ValueError, match=r"no behaviour is called compaction; there are .*compact-inside"):
        play(0, only=("compaction",))


def test_a_group_is_all_that_begin_with_its_name():
    assert {each.name for each in named(("compact",))} == {"compact-inside", "compact-system", "compact-transcript"}


def test_what_is_hard_is_played_only_where_it_is_wanted():
    easy, hard = (
        {reply.behaviour for seed in range(60) for reply in play(seed, hard).truth.replies} for hard in (False, True)
    )
    assert not [name for name in easy if name.startswith("hard")]
    assert {name for name in hard if name.startswith("hard")} == {
        each.name for each in behaviours().values() if each.hard and each.when == "event"
    }


@pytest.mark.parametrize("hard", [False, True])
def test_the_truth_accounts_for_every_logged_reply_once(hard):
    for seed in SEEDS:
        played = play(seed, hard)
        logged = [
            (file, number)
            for file, data in played.files.items()
            for number, line in enumerate(data.splitlines(), 1)
            if "status" not in orjson.loads(line)  # others are errors
        ]
        assert [(reply.file, reply.line) for reply in played.truth.replies] == logged
        prompts = {each.messages[:2] for each in played.truth.conversations.values() if each.kind == "main"}
        has_one_turn = not any(each.kind == "branch" for each in played.truth.conversations.values())
        assert len(logged) >= LEAST or (has_one_turn and len(prompts) == len(played.truth.sessions))
        for reply in played.truth.replies:
            owner = played.truth.conversations.get(reply.conversation)
            assert (owner is None) == (reply.conversation is None)
            assert owner is None or owner.kind == reply.kind
            assert owner is None or reply.canonical in owner.known


@pytest.mark.parametrize("hard", [False, True])
def test_each_conversation_ends_with_a_reply_of_its_own(hard):
    for seed in SEEDS:
        truth = play(seed, hard).truth
        ends = Counter(each.end for each in truth.conversations.values())
        assert set(ends.values()) == {1}
        owners = {(reply.file, reply.line): reply.conversation for reply in truth.replies}
        assert {owners[each.end] for each in truth.conversations.values()} == set(truth.conversations)
        assert sorted(truth.conversations) == sorted(name for names in truth.sessions.values() for name in names)


PARENTS = {
    "main": {None},
    "compacted": {"main", "compacted", "branch", "subagent"},
    "subagent": {"main", "compacted", "branch", "subagent"},
    "branch": {"main", "compacted", "branch"},
    "side": {"main", "compacted", "branch", "subagent"},
}


def test_parents_are_of_the_kinds_that_the_contract_has():
    met = set()
    for seed in range(60):
        conversations = play(seed, hard=True).truth.conversations
        for each in conversations.values():
            parent = conversations[each.parent].kind if each.parent else None
            assert parent in PARENTS[each.kind]
            assert each.parent != each.name
            met.add(each.kind)
    assert met == set(PARENTS)


def _read(line: bytes) -> list[Written]:
    """The messages of one exchange, as chatsquash reads them."""
    (outcome,) = convert_session([line], READ)
    assert outcome.record is not None, outcome.findings
    return list(of_record(orjson.loads(outcome.record)["messages"]))


def _same(sent: Canonical, said: Canonical, restored: bool) -> bool:
    return sent == said or (restored and sent == said._replace(text=squeezed(CLEARED)))


def _is_complete(line: bytes) -> bool:
    """Whether a request has all of its conversation, and the response all of the reply."""
    request = orjson.loads(line)["request"]
    messages = next(request[name] for name in ("messages", "input", "contents") if name in request)
    return not {"conversation", "previous_response_id"} & request.keys() and messages[-1].get("role") not in (
        "assistant",
        "model",
    )


def _agree(seed: int, *, hard: bool) -> int:
    """How many conversations were compared: what chatsquash reads at the end of each is what the truth says it holds."""
    played = play(seed, hard)
    replies = {(reply.file, reply.line): reply for reply in played.truth.replies}
    for each in played.truth.conversations.values():
        line = played.files[each.end.file].splitlines()[each.end.line - 1]
        if not _is_complete(line):
            continue
        read, messages = in_order(_read(line), each.messages)
        assert read[-1].reasoning == each.messages[-1].reasoning
        restored = replies[each.end].restored
        assert restored or len(read) == len(messages)
        said = iter(messages)
        for sent in read:  # in their order, though a window leaves some out
            assert any(_same(sent.canonical, message.canonical, restored) for message in said), (seed, each.name, sent)
    return len(played.truth.conversations)


@pytest.mark.parametrize("hard", [False, True])
def test_conversations_hold_what_the_last_line_of_each_holds(hard):
    assert sum(_agree(seed, hard=hard) for seed in SEEDS) > 2 * len(SEEDS)


@pytest.mark.parametrize("hard", [False, True])
def test_chatsquash_reads_every_line(hard):
    for seed in SEEDS:
        for file, data in play(seed, hard).files.items():
            outcomes = convert_session(
                data.splitlines(), Options(sessions_by="file", on_invalid="keep", anonymize=False)
            )
            assert sum(outcome.account.counts.unreadable for outcome in outcomes) == 0, (seed, file)
            assert sum(outcome.account.lines for outcome in outcomes) == data.count(b"\n")


def test_times_grow():
    for seed in SEEDS:
        times = [each.at for each in exchanges(play(seed))]
        assert len(set(times)) == len(times)


def test_texts_are_long_and_short():
    sizes = [len(reply.canonical.text) for seed in SEEDS for reply in play(seed).truth.replies]
    assert max(sizes) > 1200
    assert sum(size < 300 for size in sizes) > len(sizes) / 4
