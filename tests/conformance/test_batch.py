"""The lines of batches in tests/formats/test_batch.py are those that the SDKs have types for."""

import pytest
from anthropic.types.messages import MessageBatchIndividualResponse
from google.genai.types import GenerateContentResponse
from openai.types.chat import ChatCompletion

from tests.formats.test_batch import KINDS, anthropic, failed, gemini, result


def test_results_are_those_of_the_sdks():
    assert MessageBatchIndividualResponse.model_validate(anthropic("1", "x")).result.type == "succeeded"
    assert ChatCompletion.model_validate(result("1", "x")["response"]["body"]).choices
    assert GenerateContentResponse.model_validate(gemini("1", "x")["response"]).candidates


@pytest.mark.parametrize("kind", KINDS)
def test_failed_results_of_anthropic_are_those_of_its_sdk(kind):
    assert MessageBatchIndividualResponse.model_validate(failed(kind)).result.type == kind
