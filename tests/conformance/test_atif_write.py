"""What is written as ATIF is accepted by Harbor's own models and validator, and the stored schema is theirs.

``make conformance`` installs harbor without its dependencies: its models of trajectories need only Pydantic.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given

from chatsquash.core.errors import UsageError
from chatsquash.formats.base import TurnError
from chatsquash.formats.exports import atif
from chatsquash.translate import conversations
from tests.conftest import cases
from tests.formats.kinds import KINDS, ODD
from tests.formats.odd import CONVERSATIONS
from tests.formats.test_atif import SCHEMA
from tests.translate.test_subagents import GOLDEN, translated
from tests.translate.test_subagents import NAMES as WITH_SUBAGENTS

models = pytest.importorskip("harbor.models.trajectories")
SAMPLES = Path(__file__).parents[2] / "sample_logs"


def accepted(document):
    """A trajectory as Harbor holds it, which is as it was written."""
    trajectory = models.Trajectory.model_validate(document)
    assert trajectory.to_json_dict() == json.loads(json.dumps(document))
    return trajectory


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_content_is_accepted(kind):
    accepted(conversations.dump(KINDS[kind], "atif"))


@given(ODD | CONVERSATIONS)
def test_any_conversation_is_accepted(conversation):
    try:
        document = conversations.dump(conversation, "atif")
    except (TurnError, UsageError):
        return
    if "\\ud8" not in json.dumps(document):  # Pydantic holds no lone surrogates
        models.Trajectory.model_validate(document)


@cases(
    "name",
    "documents/claude_code-seating-csv.jsonl",
    "documents/codex-tide-table.jsonl",
    "documents/atif-river-gauge.json",
)
def test_sessions_of_agents_are_accepted(name):
    lines = (SAMPLES / name).read_text("utf-8")
    objects = [json.loads(lines)] if name.endswith(".json") else [json.loads(line) for line in lines.splitlines()]
    for conversation in conversations.load_all(objects):
        trajectory = accepted(conversations.dump(conversation, "atif"))
        assert [step.source for step in trajectory.steps].count("agent") > 1


def test_media_that_harbor_accepts_are_read():
    parts = [
        {"type": "text", "text": "See and hear"},
        {"type": "image", "source": {"media_type": "image/webp", "path": "images/a"}},
        {"type": "audio", "source": {"media_type": "audio/mp3", "path": "a.mp3", "duration_sec": 1.5}},
    ]
    agent = {"name": "a", "version": "1"}
    document = {
        "schema_version": "ATIF-v1.8",
        "agent": agent,
        "steps": [{"step_id": 1, "source": "user", "message": parts}],
    }
    trajectory = models.Trajectory.model_validate(document).to_json_dict()
    (found,) = atif.conversations([trajectory])
    assert [(block.kind, block.mime) for block in found.turns[0].blocks[1:]] == [
        ("image", "image/webp"),
        ("audio", "audio/mpeg"),
    ]
    again = accepted(conversations.dump(found, "atif"))
    assert [part.source.path for part in again.steps[0].message[1:]] == ["images/a", "a.mp3"]


def test_the_stored_schema_is_that_of_the_models():
    assert {key: value for key, value in SCHEMA.items() if key != "$comment"} == stripped(
        models.Trajectory.model_json_schema()
    )


def stripped(value):
    """A schema without titles and descriptions."""
    if isinstance(value, list):
        return list(map(stripped, value))
    if not isinstance(value, dict):
        return value
    texts = ("title", "description")
    return {key: stripped(each) for key, each in value.items() if not (key in texts and isinstance(each, str))}


@cases("name", *WITH_SUBAGENTS)
def test_trajectories_with_subagents_are_accepted(name, tmp_path):
    documents = list(map(accepted, translated(GOLDEN / name, tmp_path)))
    assert any(each.subagent_trajectories for each in documents)
