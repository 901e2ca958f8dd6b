"""What the presets write is what the services and trainers that it is for take, by their own types."""

import json
from pathlib import Path

import pytest
from mistral_common.protocol.instruct.messages import (
    FinetuningAssistantMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import Tool
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV3, ValidationMode
from openai.types.chat import ChatCompletionFunctionToolParam as ToolParam
from openai.types.chat import ChatCompletionMessageParam
from pydantic import ConfigDict, TypeAdapter

from chatsquash import Options, convert
from chatsquash.results.remedies import record_of
from tests.formats.kinds import KINDS

from .shared import RECORDED, forced

SAMPLES = Path(__file__).parents[2] / "sample_logs"
MESSAGES = {"system": SystemMessage, "user": UserMessage, "assistant": FinetuningAssistantMessage, "tool": ToolMessage}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Of a preset all records: of the sample logs, and of a conversation of every kind and every recorded one."""

    def of(preset, **options):
        given = Options(preset=preset, format="jsonl", anonymize=False, media="drop", **options)
        folder = tmp_path_factory.mktemp(preset)
        convert(SAMPLES, folder / "out", given)
        lines = [
            line for file in sorted((folder / "out" / "data").iterdir()) for line in file.read_bytes().splitlines()
        ]
        found = [json.loads(line) for line in lines]
        assert len(found) > 35
        others = [*KINDS.values(), *(pytest_param.values[1] for pytest_param in RECORDED)]
        return found + [record for each in others if (record := record_of(each, given))]

    return of


def test_mistral_common_takes_every_record_for_fine_tuning(written):
    validator = MistralRequestValidatorV3(mode=ValidationMode.finetuning)
    records = written("mistral")
    for record in records:
        messages = [MESSAGES[message["role"]](**message) for message in record["messages"]]
        tools = [Tool(**tool) for tool in record["tools"]] if "tools" in record else None
        validator.validate_request(ChatCompletionRequest(messages=messages, tools=tools))


def test_mistral_common_refuses_what_the_other_presets_write(written):
    """So that the test above is known to be able to fail."""
    validator = MistralRequestValidatorV3(mode=ValidationMode.finetuning)
    refused = 0
    for record in written("openai"):
        try:
            messages = [MESSAGES[message["role"]](**message) for message in record["messages"]]
            validator.validate_request(ChatCompletionRequest(messages=messages))
        except Exception:
            refused += 1
    assert refused


def test_openai_takes_every_record(written):
    message = TypeAdapter(ChatCompletionMessageParam, config=ConfigDict(extra="forbid"))
    tool = TypeAdapter(ToolParam)
    for record in written("openai"):
        assert record.keys() <= {"messages", "tools"}
        for each in record["messages"]:
            assert forced(message.validate_python(each)) == each
        for each in record.get("tools", []):
            assert forced(tool.validate_python(each)) == each


@pytest.mark.parametrize("preset", ["hf", "text"])
def test_oumi_takes_every_record(written, oumi_type, preset):
    for record in written(preset):
        read = oumi_type.from_dict(json.loads(json.dumps(record)))
        assert [(each.role, each.content) for each in read.messages] == [
            (each["role"], each["content"]) for each in record["messages"]
        ]
        calls = [call["function"]["arguments"] for each in record["messages"] for call in each.get("tool_calls", ())]
        theirs = [call.function.arguments for each in read.messages for call in each.tool_calls or ()]
        assert [json.loads(arguments) for arguments in theirs] == calls
