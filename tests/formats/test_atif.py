"""ATIF 1.8 as it is written: Harbor's own schema, its further rules, and what comes back.

``atif-1.8.schema.json`` is the schema of ``harbor.models.trajectories.Trajectory`` in harbor 0.26.0; the rules that it
cannot express are those of the validators there.  ``make conformance`` runs the models themselves.
"""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given

from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation, Origin, OriginReply
from chatsquash.formats.base import TurnError
from chatsquash.formats.exports import atif
from chatsquash.formats.providers.openai_chat.read import tools as load_tools
from chatsquash.records import reading
from chatsquash.translate import conversations, losses
from tests.conftest import cases
from tests.formats.kinds import KINDS, ODD
from tests.formats.odd import CONVERSATIONS
from tests.formats.test_sts import golden_records

SCHEMA = json.loads((Path(__file__).parent / "atif-1.8.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
OF_AGENTS = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")
REFERENCE = {"trajectory_id": "x"}


def problems(document):
    """What is wrong with a trajectory by the schema and by the validators of the models."""
    found = [str(each.message) for each in VALIDATOR.iter_errors(document)]
    for number, step in enumerate(document["steps"], 1):
        found += [f"step {number}: {problem}" for problem in of_step(step, number)]
    subagents = document.get("subagent_trajectories", [])
    found += [] if all(each.get("trajectory_id") for each in subagents) else ["a sub-agent has no id"]
    return found + [problem for each in subagents for problem in problems(each)]


def of_step(step, number):
    calls = {call["tool_call_id"] for call in step.get("tool_calls", [])}
    results = step.get("observation", {}).get("results", [])
    if step["step_id"] != number:
        yield "is not numbered from 1"
    if step["source"] != "agent" and any(name in step for name in OF_AGENTS):
        yield "only agents have models, reasoning, calls and metrics"
    if step.get("llm_call_count") == 0 and {"metrics", "reasoning_content"} & step.keys():
        yield "without a model there is no reasoning"
    if any(
        each.get("source_call_id", next(iter(calls), "")) not in calls for each in results if "source_call_id" in each
    ):
        yield "a result names no call of its step"
    for reference in (each for result in results for each in result.get("subagent_trajectory_ref", [])):
        if not (reference.get("trajectory_id") or reference.get("trajectory_path")):
            yield "a reference cannot be resolved"
    for part in [
        part
        for content in (step["message"], *(each.get("content") for each in results))
        if isinstance(content, list)
        for part in content
    ]:
        is_text = part["type"] == "text"
        if is_text != ("text" in part) or is_text == ("source" in part) or not fits(part):
            yield "a part has other members than its type"


def fits(part):
    return part["type"] == "text" or part["source"]["media_type"].startswith(part["type"])


@cases(
    "change, problem",
    ({"step_id": 2}, "step 1: is not numbered from 1"),
    ({"source": "user"}, "step 1: only agents have models, reasoning, calls and metrics"),
    ({"llm_call_count": 0, "reasoning_content": "a"}, "step 1: without a model there is no reasoning"),
    ({"observation": {"results": [{"source_call_id": "b"}]}}, "step 1: a result names no call of its step"),
    ({"message": [{"type": "image", "source": {"media_type": "audio/wav", "path": "a"}}]}, "step 1: a part has other members than its type"),
    ({"note": 1}, "Additional properties are not allowed ('note' was unexpected)"),
    ({"message": None}, "null is not valid under any of the schemas listed in the 'anyOf' keyword"),
)  # fmt: skip
def test_the_rules_find(change, problem):
    call = {"tool_call_id": "a", "function_name": "f", "arguments": {}}
    step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": [call]}
    document = {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": [step]}
    assert problems(document) == []
    assert problems({**document, "steps": [{**step, **change}]}) == [problem]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_content_is_written_by_the_rules(kind):
    assert problems(conversations.dump(KINDS[kind], "atif")) == []


@given(ODD | CONVERSATIONS)
def test_any_conversation_is_written_by_the_rules(conversation):
    try:
        document = conversations.dump(conversation, "atif")
    except (TurnError, UsageError):
        return
    assert problems(json.loads(json.dumps(document))) == []


def test_golden_records_come_back_but_for_what_is_told():
    equal = flagged = others = 0
    for case, value in golden_records():
        record = reading.record(value)
        definitions = load_tools(record.tools)
        conversation = Conversation(record.messages, [*definitions.functions, *definitions.hosted])
        if not record.messages:
            continue
        document = conversations.dump(conversation, "atif")
        assert problems(document) == [], case
        lost = conversations.losses(conversation, "atif")
        assert losses.differences(conversation, conversations.load(document, "atif")) == lost
        content = [kind for kind in map(losses.kind, lost) if ".native." not in kind]
        equal, flagged, others = equal + (not lost), flagged + bool(lost and not content), others + bool(content)
    assert (equal, flagged, others) == (336, 94, 32)


def test_evidence_is_written_and_comes_back():
    replies = (OriginReply(1, time=1767225601_250_000_000, model="m", prompt_tokens=9, completion_tokens=2),)
    origin = Origin("s/2", "s", "subagent", "s/1", replies=replies)
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    document = conversations.dump(Conversation(said, [], origin=origin, source="codex", version="0.9"), "atif")
    assert document["agent"] == {"name": "codex", "version": "0.9", "model_name": "m"}
    assert document["steps"][1]["timestamp"] == "2026-01-01T00:00:01.250Z"
    assert document["steps"][1]["metrics"] == {"prompt_tokens": 9, "completion_tokens": 2}
    (again,) = atif.conversations([document])
    found = again.origin
    assert (found.id, found.session_id, found.kind, found.parent) == ("s/2", "s", "subagent", "s/1")
    (reply,) = found.replies
    assert (reply.at, reply.time, reply.model, reply.prompt_tokens, reply.completion_tokens) == (
        1,
        replies[0].time,
        "m",
        9,
        2,
    )
    assert conversations.dump(again, "atif") == document


def test_a_conversation_without_supported_content_keeps_an_empty_step():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    document = conversations.dump(Conversation([{"role": "user", "content": [picture]}], []), "atif")
    assert document["steps"] == [{"step_id": 1, "source": "user", "message": ""}]
    assert problems(document) == []
    with pytest.raises(TurnError):
        atif.dump(Conversation([], []))


def test_ids_that_a_trajectory_does_not_have_are_not_written():
    step = {"step_id": 1, "source": "user", "message": "a"}
    document = {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": [step]}
    for ids in ({}, {"session_id": "s"}):
        (found,) = atif.conversations([{**document, **ids}])
        assert conversations.dump(found, "atif") == {**document, **ids}


def test_a_model_that_only_some_replies_name_is_not_that_of_others():
    said = [
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c"},
    ]
    for models in (["m", None], ["m", "n"]):
        origin = Origin(replies=tuple(OriginReply(at, model=model) for at, model in zip((0, 2), models, strict=True)))
        document = conversations.dump(Conversation(said, [], origin=origin), "atif")
        assert "model_name" not in document["agent"]
        assert [step.get("model_name") for step in document["steps"] if step["source"] == "agent"] == models


def test_copied_context_and_steps_without_a_model_stay_so():
    steps = [
        {"step_id": 1, "source": "user", "message": "a", "is_copied_context": True},
        {"step_id": 2, "source": "agent", "message": "b", "is_copied_context": True},
        {"step_id": 3, "source": "agent", "message": "c", "llm_call_count": 0},
        {"step_id": 4, "source": "agent", "message": "d", "llm_call_count": 1},
    ]
    agent = {"name": "a", "version": "1", "extra": {"k": 1}}
    document = {"schema_version": "ATIF-v1.8", "session_id": "s", "trajectory_id": "t", "agent": agent, "steps": steps}
    (found,) = atif.conversations([document])
    assert [each.at for each in found.origin.replies] == [3]
    assert conversations.dump(found, "atif") == document
    assert conversations.losses(found, "openai_chat") == []


@cases(
    "agent, steps",
    ([], {}),
    ({"name": 1, "version": None, "extra": []}, {"is_copied_context": "yes", "llm_call_count": True}),
    ({"name": "", "note": "x"}, {"llm_call_count": -1}),
)
def test_odd_members_of_a_trajectory_are_not_written(agent, steps):
    step = {"step_id": 1, "source": "agent", "message": "a", **steps}
    (found,) = atif.conversations([{"schema_version": "ATIF-v1.8", "agent": agent, "steps": [step]}])
    assert problems(conversations.dump(found, "atif")) == []


@cases(
    "references, is_written",
    ([REFERENCE], True),
    ([{"trajectory_path": "a.json", "session_id": "s", "extra": {}}], True),
    ([{"session_id": "s"}], False),
    ([REFERENCE, 1], False),
    ([{**REFERENCE, "note": 1}], False),
    ([{"trajectory_id": 1}], False),
    ("x", False),
)
def test_references_that_can_be_resolved_are_written(references, is_written):
    call = {"tool_call_id": "a", "function_name": "f", "arguments": {}}
    results = [{"source_call_id": "a", "content": "", "subagent_trajectory_ref": references}]
    step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": [call], "observation": {"results": results}}
    (found,) = atif.conversations(
        [{"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": [step]}]
    )
    document = conversations.dump(found, "atif")
    assert problems(document) == []
    assert ("subagent_trajectory_ref" in document["steps"][0]["observation"]["results"][0]) is is_written
    assert bool(conversations.losses(found, "atif")) is not is_written
