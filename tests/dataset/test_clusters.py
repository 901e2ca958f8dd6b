"""Records that are alike, or begin alike, are in one split, whatever comes first."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert
from chatsquash.core.accounting import Usage
from chatsquash.core.jsonio import dumps
from chatsquash.core.outcome import Facts, Family, Record
from chatsquash.dataset.pre_pass import Clusters
from chatsquash.session.fingerprints import of_record
from tests.conftest import assistant, examples, log_line, table, user, write_log
from tests.outputs import findings

OPTIONS = Options(anonymize=False, split="train=0.5,test=0.5", split_by="cluster")
STORY = "the quick brown fox jumps over the lazy dog and runs far away from here until the night comes"


def made(*messages, prefix: str = "") -> Record:
    record = Record(dumps({"messages": list(messages), "tools": []}), Usage(0, (), 0, 0, 0, ()))
    record = Record(record.line, record.usage, facts=Facts(prefix=prefix), digest=record.line[-16:])
    return Record(record.line, record.usage, facts=record.facts, digest=record.digest, alike=of_record(record, OPTIONS))


def clusters(sessions: list[list[Record]], families: dict[int, Family] | None = None) -> list[str]:
    """The names of the clusters of sessions."""
    found, ends, seen = Clusters(), [], 0
    for number, records in enumerate(sessions):
        found.add(records, (families or {}).get(number))
        seen += len(records)
        ends.append(seen - 1)
    found.finish()
    return [found.of(at) for at in ends]


ROWS = [
    ("one prompt", [user("Hi.")], [user("Hi.")], True),
    ("one prompt but for its case, spaces and numbers", [user("Mend test 12 of a.py")], [user("mend\n TEST 7 of A.py ")], True),
    ("one prompt under two system prompts", [{"role": "system", "content": "a"}, user("hi")], [{"role": "system", "content": "b"}, user("hi")], True),
    ("other prompts", [user("Hi.")], [user("Ho.")], False),
    ("no prompts", [assistant("a b c d e f")], [assistant("g h i j k l")], False),
    ("nearly the same words", [user("Hi."), assistant(STORY * 5)], [user("Ho."), assistant(STORY * 5)], True),
    ("other words", [user("Hi."), assistant(STORY)], [user("Ho."), assistant(STORY[::-1])], False),
]  # fmt: skip


@pytest.mark.parametrize("first, second, is_one", [each[1:] for each in ROWS], ids=[each[0] for each in ROWS])
def test_records_are_in_one_cluster(first, second, is_one):
    one, other = clusters([[made(*first)], [made(*second)]])
    assert (one == other) is is_one


def test_what_is_near_to_one_and_begins_as_another_unites_both():
    middle = [user("Hi."), assistant(STORY * 5)]
    sessions = [[made(user("Hi."))], [made(user("Ho."), assistant(STORY * 5))], [made(*middle)]]
    assert len(set(clusters(sessions[:2]))) == 2
    assert len(set(clusters(sessions))) == 1


def test_the_records_of_a_session_are_in_one_cluster_and_so_are_sessions_that_begin_alike():
    one = [made(user("a")), made(user("b"))]
    others = [[made(user("b"))], [made(user("c"), prefix="0" * 32)], [made(user("d"), prefix="0" * 32)]]
    names = clusters([one, *others])
    assert names[0] == names[1] != names[2] == names[3]


def test_the_conversations_of_an_agents_session_are_in_one_cluster():
    family = Family("s", "f" * 32, "a", None)
    names = clusters([[made(user("a"))], [made(user("b"))], [made(user("c"))]], {0: family, 2: family})
    assert names[0] == names[2] != names[1]


PIECES = st.lists(
    st.sampled_from(["a", "B", STORY * 2, f"{STORY} 1 {STORY}", STORY[::-1], "c 1", "C 2"]), min_size=1, max_size=3
)


@examples(100)
@given(st.lists(PIECES, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_clusters_depend_on_no_order(said, random):
    sessions = [[made(*(user(text) for text in each))] for each in said]
    order = list(range(len(sessions)))
    random.shuffle(order)
    shuffled = clusters([sessions[number] for number in order])
    assert [shuffled[order.index(number)] for number in range(len(sessions))] == clusters(sessions)


def test_a_split_by_cluster_leaks_nothing_and_says_that_it_may_move_records(here):
    """Sessions of six tasks, each under several days and numbers; one pair is alike in what it answers alone."""
    for at in range(36):
        entry = log_line(f"Task {'abcdef'[at % 6]} of 2026-01-{at:02}", reply=f"{at} done", session_id=f"s{at}")
        write_log(here / f"logs/{at:02}.jsonl", entry)
    for name in ("one", "two"):
        write_log(here / f"logs/{name}.jsonl", log_line(name, reply=STORY * 5, session_id=name))
    for seed in range(4):
        chosen = Options(anonymize=False, format="jsonl", split="train=0.5,test=0.5", split_by="cluster", seed=seed)
        summary = convert("logs", "out", chosen)
        assert table(summary)["splits"].endswith("by cluster: records may change splits when logs are added")
        held = {path.name[:4]: path.read_text("utf-8") for path in Path("out/data").iterdir()}
        assert all(sum(f"Task {task}" in text for text in held.values()) == 1 for task in "abcdef")
        assert len([text for text in held.values() if STORY in text]) == 1
        assert findings("split-leak") == []
        assert sum(records for records, _ in summary.splits.values()) == 38


def test_other_splits_do_not_say_that_they_move_records(here):
    write_log(here / "logs/a.jsonl", log_line("hi"))
    summary = convert("logs", "out", Options(anonymize=False, split="train=0.5,test=0.5"))
    assert "by cluster" not in table(summary)["splits"]
