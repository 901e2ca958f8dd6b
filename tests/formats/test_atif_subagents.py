"""ATIF's sub-agents: parents, calls, and trajectories that contain those of their sub-agents.

How agents refer to trajectories is that of the converters in harbor 0.26.0: ``agents/installed/codex.py`` and ``fx.py``
embed sub-agents and refer to them in the results of calls; ``agents/terminus_2/terminus_2.py`` writes them to files, with
``parent_session_id``, and refers to them in an observation without a call.
"""

import json
import time

import pytest

from chatsquash.core.model import Conversation, Origin, OriginReply
from chatsquash.formats.exports import atif
from chatsquash.translate import conversations
from chatsquash.translate.families import families
from chatsquash.trees.documents import paths
from tests.conftest import cases
from tests.formats.test_atif import problems

AGENT = {"name": "a", "version": "1"}


def user(text="hi"):
    return {"step_id": 1, "source": "user", "message": text}


def calling(*ids, refers=(), **members):
    """A step that calls tools, with a result for each call; the results of ``refers`` refer to trajectories."""
    calls = [{"tool_call_id": each, "function_name": "task", "arguments": {}} for each in ids]
    referring = dict(refers)
    results = [
        {"source_call_id": each, "content": "ok"}
        | ({"subagent_trajectory_ref": [{"trajectory_id": referring[each]}]} if each in referring else {})
        for each in ids
    ]
    step = {"step_id": 2, "source": "agent", "message": "I ask.", "tool_calls": calls}
    return {**step, "observation": {"results": results}, **members}


def trajectory(*steps, **members):
    numbered = [{**step, "step_id": number} for number, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.8", "session_id": "s", "agent": AGENT, "steps": numbered, **members}


def links(document):
    """The id, the kind, the parent and the call of each trajectory."""
    found = (each.origin for each in atif.conversations([document]))
    return [(each.id, each.kind, each.parent, each.call) for each in found]


def written(document):
    """The document that is written for the families of a document, and those of sub-agents without a parent."""
    return [nested(family) for family in grouped(atif.conversations([document]))]


def grouped(loaded):
    found = []
    for conversation, depth in families(loaded):
        found += [[]] if depth == 0 else []
        found[-1].append((depth, conversation))
    return found


def nested(family):
    return conversations.nest([(depth, each, conversations.dump(each, "atif")) for depth, each in family], "atif")


CHILD = trajectory(user("look"), {"source": "agent", "message": "seen"}, trajectory_id="c")
TWO_LEVELS = trajectory(
    user(),
    calling("x", refers=[("x", "b")]),
    trajectory_id="a",
    subagent_trajectories=[
        trajectory(
            user(), calling("y", refers=[("y", "c")]), trajectory_id="b", session_id="other", subagent_trajectories=[CHILD]
        )
    ],
)  # fmt: skip


def test_a_reference_names_the_call_that_started_a_subagent():
    assert links(TWO_LEVELS) == [
        ("a", "main", None, None),
        ("b", "subagent", "a", "x"),
        ("c", "subagent", "b", "y"),
    ]


def test_the_parent_is_the_trajectory_with_the_reference_even_if_the_root_contains_both():
    flat = {**TWO_LEVELS, "subagent_trajectories": [dict(TWO_LEVELS["subagent_trajectories"][0]), CHILD]}
    del flat["subagent_trajectories"][0]["subagent_trajectories"]
    assert links(flat) == links(TWO_LEVELS)


def test_calls_of_several_trajectories_may_have_the_same_id():
    """Terminus 2 numbers its calls in each trajectory: ``call_0_1``."""
    children = [
        trajectory(user(), calling("call_0_1"), {"source": "agent", "message": "b"}, trajectory_id="b"),
        trajectory(user(), calling("call_0_1"), {"source": "agent", "message": "c"}, trajectory_id="c"),
    ]
    document = trajectory(user(), calling("call_0_1", refers=[("call_0_1", "b")]), trajectory_id="a")
    found = paths(atif.conversations([{**document, "subagent_trajectories": children}]))
    assert [each.parent and each.parent.origin.id for each in found] == [None, "a", "a"]


def test_trajectories_that_refer_to_each_other_have_no_circular_parents():
    first = trajectory(user(), calling("x", refers=[("x", "c")]), trajectory_id="b")
    second = trajectory(user(), calling("y", refers=[("y", "b")]), trajectory_id="c")
    own = trajectory(user(), calling("z", refers=[("z", "a")]), trajectory_id="a")
    document = {**own, "subagent_trajectories": [first, second]}
    assert links(document) == [("a", "main", None, None), ("b", "subagent", "a", None), ("c", "subagent", "b", "x")]
    assert problems(written(document)[0]) == []


def test_a_file_of_terminus_2_names_the_session_of_its_parent():
    own = trajectory(user(), session_id="s-summarization-1-summary")
    own["agent"] = {**AGENT, "extra": {"parent_session_id": "s", "summarization_index": 1}}
    assert links(own) == [("s-summarization-1-summary", "subagent", "s", None)]


@cases(
    "path, session, parent, pattern",
    ("t/agent/trajectory.summarization-1-summary.json", "s-x", "s", "t/agent/trajectory.json*"),
    ("trajectory.summarization-1-summary.json", "s-x", "s-cont-2", "trajectory.cont-2.json*"),
    ("a[1]/x.json", "s-x", "s-cont-2/../..", "a[[]1]/trajectory.json*"),
    ("x.json", "s", "s", None),
    ("x.json", "s", None, None),
)
def test_the_file_of_the_parent_is_in_the_same_folder(path, session, parent, pattern):
    assert atif.home(path, Origin(session_id=session, kind="subagent", parent=parent)) == pattern


def test_an_observation_that_only_refers_to_subagents_is_no_message():
    reference = {"session_id": "s-1", "trajectory_path": "t.json", "extra": {"summary": "s"}}
    observation = {"results": [{"subagent_trajectory_ref": [reference]}]}
    step = {"source": "system", "message": "Summarized.", "observation": observation}
    document = trajectory(user(), step, {"source": "agent", "message": "ok"})
    (found,) = atif.conversations([document])
    assert [each["role"] for each in found.messages] == ["user", "system", "assistant"]
    assert written(document) == [document]


@pytest.mark.parametrize("document", [TWO_LEVELS, CHILD], ids=["two levels", "alone"])
def test_documents_are_written_as_they_were_read(document):
    again = written(document)
    assert again == [document]
    assert problems(again[0]) == []


def test_members_that_no_conversation_has_are_written_again():
    steps = (
        {**user(), "timestamp": "2026-01-01T00:00:01+01:00", "extra": {"k": None}},
        {
            **calling("x"),
            "timestamp": "2026-01-01T00:00:02.5Z",
            "model_name": "m",
            "reasoning_effort": 0.5,
            "metrics": {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4, "cost_usd": 0.25, "extra": {"x": [1]}},
        },
        {"source": "agent", "message": "done", "is_copied_context": True, "metrics": {"prompt_tokens": 3}},
    )  # fmt: skip
    totals = {
        "total_prompt_tokens": 9,
        "total_cached_tokens": 4,
        "total_cost_usd": 0.5,
        "total_steps": 3,
        "extra": {"r": 1},
    }
    document = trajectory(*steps, trajectory_id="t", notes="n", final_metrics=totals, extra={"k": None})
    assert written(document) == [document]
    assert problems(document) == []
    (found,) = atif.conversations([document])
    assert found.origin.unread == {"step.extra": 1, "step.metrics.extra": 1, "trajectory.notes": 1}
    assert conversations.losses(found, "atif") == []


@cases(
    "members",
    {"reasoning_effort": True},
    {"reasoning_effort": float("nan")},
    {"reasoning_effort": [1]},
    {"metrics": {"cached_tokens": "4", "cost_usd": float("inf"), "extra": 1}},
    {"metrics": {"cost_usd": 10**400, "prompt_tokens": 1.5}},
    {"metrics": {"note": 1}},
    {"timestamp": "yesterday"},
    {"timestamp": 1767225601},
    {"extra": []},
    {"observation": {"results": [{"subagent_trajectory_ref": [{"session_id": "x"}]}]}},
    {"observation": {"results": [{"subagent_trajectory_ref": {"a": 1}}]}},
)
def test_odd_members_are_not_written(members):
    steps = (user(), {"source": "agent", "message": "a", **members})
    totals = {"total_steps": -1, "total_cost_usd": "1", "total_prompt_tokens": None, "extra": 3, "note": 1}
    document = trajectory(*steps, final_metrics=totals, notes=3, extra=[1])
    for each in written(document):
        assert problems(each) == []
        assert each.keys() == {"schema_version", "session_id", "agent", "steps"}


def test_totals_of_other_steps_are_not_written():
    """An empty message of the user is no step, so the number of steps differs."""
    document = trajectory(
        user(""), {"source": "agent", "message": "a"}, final_metrics={"total_steps": 2, "total_cost_usd": 1}
    )
    (again,) = written(document)
    assert (len(again["steps"]), again["final_metrics"]) == (1, {"total_cost_usd": 1})


# Conversations of other formats


def conversation(name, parent=None, call=None, *, messages=None, **origin):
    said = messages or [{"role": "user", "content": name}, {"role": "assistant", "content": f"I am {name}."}]
    kind = "subagent" if parent else "main"
    replies = tuple(OriginReply(at, at, model="m") for at, message in enumerate(said) if message["role"] == "assistant")
    known = Origin(name, "s", kind, parent, call, replies=replies, **origin)
    return Conversation(said, [], origin=known)


def asking(*ids, answered=True):
    calls = [{"id": each, "type": "function", "function": {"name": "task", "arguments": "{}"}} for each in ids]
    results = [{"role": "tool", "tool_call_id": each, "content": "ok"} for each in ids if answered]
    return [{"role": "user", "content": "go"}, {"role": "assistant", "content": "", "tool_calls": calls}, *results]


def test_the_result_of_the_call_refers_to_the_subagent():
    main = conversation("m", messages=asking("x", "y"))
    (family,) = grouped([main, conversation("b", "m", "y"), conversation("c", "m", "y")])
    document = nested(family)
    assert problems(document) == []
    first, second = document["steps"][1]["observation"]["results"]
    assert "subagent_trajectory_ref" not in first
    assert second["subagent_trajectory_ref"] == [{"trajectory_id": "b"}, {"trajectory_id": "c"}]
    assert links(document)[1:] == [("b", "subagent", "m", "y"), ("c", "subagent", "m", "y")]


def test_the_parent_may_name_the_call_of_a_subagent():
    main = conversation("m", messages=asking("x"), began={"b": "x"})
    document = nested(grouped([main, conversation("b", "m")])[0])
    assert links(document)[1] == ("b", "subagent", "m", "x")


def test_a_call_without_a_result_stays_unanswered():
    main = conversation("m", messages=asking("x", answered=False))
    document = nested(grouped([main, conversation("b", "m", "x")])[0])
    assert problems(document) == []
    assert links(document)[1] == ("b", "subagent", "m", "x")
    assert [each["role"] for each in atif.conversations([document])[0].messages] == ["user", "assistant"]


def test_a_subagent_of_another_file_keeps_its_links():
    document = conversations.dump(conversation("b", "m", "x"), "atif")
    assert problems(document) == []
    assert links(document) == [("b", "subagent", "m", "x")]


def test_subagents_without_ids_get_different_ones():
    main = conversation("m", messages=asking("x"))
    subagents = [conversation("", "m"), conversation("", "m"), conversation("subagent-2", "m"), conversation("", "m")]
    document = nested(grouped([main, *subagents])[0])
    names = [each["trajectory_id"] for each in document["subagent_trajectories"]]
    assert names == ["subagent", "subagent-2", "subagent-2-2", "subagent-3"]
    assert problems(document) == []


def test_families_follow_the_order_of_the_file():
    given = [
        conversation("c", "b"), conversation("a"), conversation("lost", "nobody"),
        conversation("b", "a"), conversation("d", "a"), conversation("e"),
    ]  # fmt: skip
    found = [(each.conversation.origin.id, each.depth) for each in families(given)]
    assert found == [("a", 0), ("b", 1), ("c", 2), ("d", 1), ("lost", 0), ("e", 0)]


def test_subagents_that_started_each_other_are_written_once():
    given = [conversation("a", "b"), conversation("b", "a"), conversation("c")]
    found = [(each.conversation.origin.id, each.depth) for each in families(given)]
    assert sorted(name for name, _ in found) == ["a", "b", "c"]
    assert found[0] == ("c", 0)


def test_very_deep_subagents_begin_another_document():
    given = [conversation("0"), *(conversation(str(number), str(number - 1)) for number in range(1, 50))]
    found = families(given)
    assert [each.conversation.origin.id for each in found] == list(map(str, range(50)))
    assert [each.depth for each in found] == [*range(21), *range(21), *range(8)]
    for family in grouped(given):
        json.dumps(nested(family))


def test_many_subagents_take_linear_time():
    main = conversation("m", messages=asking("x"))
    given = [main, *(conversation("", "m", "x") for _ in range(10_000))]
    start = time.process_time()
    document = nested(grouped(given)[0])
    assert time.process_time() - start < 10
    assert len(document["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"]) == 10_000
