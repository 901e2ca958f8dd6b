"""Histories that many summaries replaced: what each saw, and how much of it is told."""

import time

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chatsquash.formats.evidence import Evidence, LoggedTurn
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import ThreadEntry, load_paths


def step(place, is_summary, kept):
    role = "user" if is_summary or place % 2 == 0 else "assistant"
    turn = {"role": role, "content": str(place)}
    return ThreadEntry((LoggedTurn(f"step {place}", turn, Evidence(place + 1)),), role == "assistant", is_summary, kept)


def plainly(steps):
    """What the model saw before each summary and at the end, the last one first, as lists."""
    found, seen = [], []
    for place, each in enumerate(steps):
        if not each.is_summary:
            seen = [*seen, place]
            continue
        if any(steps[before].is_sampled for before in seen):
            found.append(seen)
        seen = [place, *(seen[seen.index(each.first_kept) :] if each.first_kept in seen else [])]
    return [list(map(str, each)) for each in [*found, seen][::-1] if each]


SHAPES = st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 12)), max_size=12)


@given(shapes=SHAPES)
def test_what_was_seen_is_what_a_plain_reading_gives(shapes):
    steps = [step(place, is_summary, kept) for place, (is_summary, kept) in enumerate(shapes)]
    found = load_paths(openai_chat, steps, [range(len(steps))], {})
    assert [[message["content"] for message in each.messages] for each in found] == plainly(steps)


def test_histories_before_very_many_summaries_are_told_of_the_last_ones_and_the_others_are_counted():
    def took(size):
        steps = [step(place, place % 3 == 2, 0) for place in range(size)]
        began = time.process_time()
        found = load_paths(openai_chat, steps, [range(size)], {})
        return time.process_time() - began, found

    took(300)
    (short, _), (long, found) = took(2_000), took(8_000)
    assert long < 10 * max(short, 0.1)
    left = found[0].origin.unread["history before a summary, over the limit"]
    assert len(found) + left == 8_000 // 3 + 1
    assert sum(len(each.messages) for each in found[1:]) < 20 * 8_000
    assert len(found[0].messages) > 5_000


def placed(steps, *ways):
    """The conversations of a thread: the name, the kind, the parent and the places of each."""
    found = load_paths(openai_chat, steps, ways, {})
    origins = [(each.origin, [int(message["content"]) for message in each.messages]) for each in found]
    return [(one.id, one.kind, one.parent, places) for one, places in origins]


def test_a_branch_leaves_the_conversation_that_begins_with_its_summary():
    # 0 1 [2] 3 4 5, with a branch after the reply 1, and one after the summary 2
    steps = [step(place, place == 2, None) for place in range(10)]
    steps = [replace(each, is_sampled=place in (1, 4, 7, 9)) for place, each in enumerate(steps)]
    found = placed(steps, [0, 1, 2, 3, 4], [0, 1, 6, 7], [0, 1, 2, 8, 9])
    assert found == [
        ("1.2", "compacted", "1.1", [2, 3, 4]),
        ("1.1", "main", None, [0, 1]),
        ("2", "branch", "1.1", [0, 1, 6, 7]),
        ("3.2", "branch", "1.2", [2, 8, 9]),
    ]


def test_what_a_summary_within_a_branch_replaced_is_a_branch_too():
    steps = [step(place, place == 5, None) for place in range(8)]
    steps = [replace(each, is_sampled=place in (1, 4, 7)) for place, each in enumerate(steps)]
    assert placed(steps, [0, 1], [0, 1, 3, 4, 5, 6, 7]) == [
        ("1", "main", None, [0, 1]),
        ("2.2", "compacted", "2.1", [5, 6, 7]),
        ("2.1", "branch", "1", [0, 1, 3, 4]),
    ]
