"""Recorded exchanges with real services, where they are at hand; nothing of them is in this repository."""

import io
from pathlib import Path

import orjson
import pytest

from pipeline import Options
from pipeline.checks import rules
from pipeline.model import Job
from pipeline.run.session import Converter
from tests import oracle

FOLDER = Path(__file__).parents[2] / "shared" / "real_exchanges"
CHAT = sorted((FOLDER / "openai_chat").glob("*.jsonl"))
OTHERS = sorted(path for path in FOLDER.glob("*/*.jsonl") if path not in CHAT)
OPTIONS = [Options(anonymize=False), Options(anonymize=False, json_tool_calls=True, on_invalid="keep")]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="../shared/real_exchanges is not there")


def converted(path: Path, options: Options):
    data = path.read_bytes()
    return Converter(options).read(io.BytesIO(data), Job(str(path), path.name, path.name, len(data)))


def answered(path: Path) -> list[bool]:
    """For each entry of a log, whether its response has a choice."""
    responses = [orjson.loads(line).get("response") for line in path.read_bytes().splitlines()]
    return [isinstance(response, dict) and bool(response.get("choices")) for response in responses]


def test_the_exchanges_are_those_that_were_counted():
    assert len(CHAT) == 74
    assert sum(any(answered(path)) for path in CHAT) == 64
    assert sum(answered(path)[-1] for path in CHAT) == 63, "one ends with an error body"


@pytest.mark.parametrize("path", CHAT, ids=lambda path: path.stem)
def test_a_chat_exchange_gives_a_record_with_its_reply_or_says_why_not(path):
    outcome = converted(path, OPTIONS[0])
    record = orjson.loads(outcome.record)
    missing = [found.text for found in outcome.findings if found.code == "missing-reply"]
    assert not outcome.rejected
    assert list(record) == ["messages", "tools"]
    if answered(path)[-1]:
        assert record["messages"][-1]["role"] == "assistant"
        assert missing == []
    else:
        assert len(missing) == 1


@pytest.mark.parametrize("options", OPTIONS, ids=["native", "inline"])
@pytest.mark.parametrize("path", CHAT + OTHERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_exchange_of_any_service_is_accounted_for_and_converted_as_by_the_oracle(path, options):
    outcome = converted(path, options)
    assert outcome.lines == sum(outcome.account) == len(path.read_bytes().splitlines())
    assert outcome.record == oracle.convert(path.read_bytes(), path.stem, options)
    assert (outcome.record is None) == (outcome.left_out is not None)
    assert {found.code for found in outcome.findings} <= set(rules())
