"""The laws of ``tests/formats/test_pairs.py``, by what the libraries of the formats see, which take all that is written."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import ollama
import pytest
from anthropic.types import ToolUnionParam
from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam
from google.genai import types as google
from hypothesis import Phase, given, settings
from openai.types import chat, responses
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.ui.vercel_ai.request_types import UIMessage

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation
from chatsquash.translate import conversations
from tests.conformance import ai_sdk, readers
from tests.conformance.shared import forced
from tests.formats.talks import TALKS
from tests.formats.test_pairs import SOURCES
from tests.formats.written import Written, held, mistakes, written

CASES = settings(max_examples=200)

CHAT = TypeAdapter(list[chat.ChatCompletionMessageParam])
BESIDE = ("reasoning_content", "reasoning_details", "annotations", "name")
"""Members of messages that OpenAI's library does not know, and those do that speak as it does."""
ITEMS = TypeAdapter(list[responses.ResponseInputItemParam])
ANTHROPIC = TypeAdapter(list[BetaMessageParam])
SYSTEM = TypeAdapter(str | list[BetaTextBlockParam])
CONTENTS = TypeAdapter(list[google.Content])
OLLAMA = TypeAdapter(list[ollama.Message])
UI_MESSAGES = TypeAdapter(list[UIMessage])
TOOLS = {
    "openai_chat": TypeAdapter(list[chat.ChatCompletionToolUnionParam]),
    "openai_responses": TypeAdapter(list[responses.ToolParam]),
    "anthropic": TypeAdapter(list[ToolUnionParam]),
    "gemini": TypeAdapter(list[google.Tool]),
    "ollama": TypeAdapter(list[ollama.Tool]),
}


def of_chat(document: Any) -> Any:
    """What OpenAI's library keeps, with what services that speak as it does know beside it."""
    seen = forced(CHAT.validate_python(document["messages"]))
    for message, known in zip(document["messages"], seen, strict=True):
        known |= {name: message[name] for name in BESIDE if name in message}
        for call, own in zip(message.get("tool_calls", []), known.get("tool_calls", []), strict=True):
            own |= {name: call[name] for name in ("extra_content",) if name in call}
    return {**document, "messages": seen}


def of_clippy(document: Any) -> Any:
    """Its messages are OpenAI's."""
    return {"conversation_history": of_chat({"messages": document["conversation_history"]})["messages"]}


def of_responses(document: Any) -> Any:
    return {**document, "input": forced(ITEMS.validate_python(document["input"]))}


def of_anthropic(document: Any) -> Any:
    system = {"system": forced(SYSTEM.validate_python(document["system"]))} if "system" in document else {}
    return _told({**document, **system, "messages": forced(ANTHROPIC.validate_python(document["messages"]))})


def _told(value: Any) -> Any:
    """What the library keeps, without members that it adds as null."""
    if isinstance(value, list):
        return list(map(_told, value))
    return {key: _told(each) for key, each in value.items() if each is not None} if isinstance(value, dict) else value


def of_gemini(document: Any) -> Any:
    """As JSON, since only there data and signatures must be base64, which comes in another alphabet."""
    found = {**document, "contents": _contents(document["contents"])}
    if "systemInstruction" in document:
        (found["systemInstruction"],) = _contents([document["systemInstruction"]])
    return found


def _contents(given: Any) -> Any:
    seen = [
        each.model_dump(mode="json", by_alias=True, exclude_none=True)
        for each in CONTENTS.validate_json(jsonio.dumps(given))
    ]
    return [{**held, "parts": [_standard(part) for part in held.get("parts", [])]} for held in seen]


def _standard(part: Any) -> Any:
    """A part with data and signatures in the standard alphabet."""
    if isinstance(part, list):
        return list(map(_standard, part))
    if not isinstance(part, dict):
        return part
    octets = ("data", "thoughtSignature")
    return {
        key: value.replace("-", "+").replace("_", "/") if key in octets and isinstance(value, str) else _standard(value)
        for key, value in part.items()
    }


def of_ollama(document: Any) -> Any:
    """What Ollama's library keeps, with the ids that only its server knows."""
    wrapped = [
        {**each, **({"images": [ollama.Image(value=image) for image in each["images"]]} if "images" in each else {})}
        for each in document["messages"]
    ]
    seen = [each.model_dump(exclude_none=True) for each in OLLAMA.validate_python(wrapped)]
    for message, known in zip(document["messages"], seen, strict=True):
        known |= {name: message[name] for name in ("tool_call_id",) if name in message}
        for call, own in zip(message.get("tool_calls", []), known.get("tool_calls", []), strict=True):
            own |= {name: call[name] for name in ("id",) if name in call}
    return {**document, "messages": seen}


def of_pydantic_ai(document: Any) -> Any:
    seen = ModelMessagesTypeAdapter.validate_python(document)
    return _standard(ModelMessagesTypeAdapter.dump_python(seen, mode="json"))


def of_vercel_ai(document: Any) -> Any:
    seen = UI_MESSAGES.validate_python(document)
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in seen]


LIBRARIES = {
    "anthropic": of_anthropic, "clippy": of_clippy, "gemini": of_gemini, "ollama": of_ollama, "openai_chat": of_chat,
    "openai_responses": of_responses, "pydantic_ai": of_pydantic_ai, "vercel_ai": of_vercel_ai,
}  # fmt: skip


@pytest.fixture(scope="session")
def libraries(oumi_type):
    """What each library sees of a document; for some formats there is none here."""
    return {**LIBRARIES, "oumi": lambda document: oumi_type.from_dict(document).to_dict()}


@SOURCES
@CASES
@given(talk=TALKS)
def test_what_the_library_sees_is_the_source_but_for_what_is_told(libraries, source, talk):
    conversation = held(talk, source)
    made = {target: written(conversation, target) for target in readers.NAMES}
    seen = {target: libraries.get(target, bare)(each.document) for target, each in made.items()}
    found = [mistakes(target, each, seen[target]) for target, each in made.items()]
    assert not any(found), "\n".join(filter(None, found))
    for target, tools in TOOLS.items():
        forced(tools.validate_python(made[target].document.get("tools", [])))


def bare(document: Any) -> Any:
    """What is seen of a document where there is no library."""
    return document


# The AI SDK, under Node, for which all is gathered first


KINDS = {"vercel_ai": "ui", "model_messages": "model"}
BEYOND_5 = (
    "execution-denied", "tool-approval-", "image-url", "file-url", "file-data", "file-id", "image-data",
    "image-file-id",
)  # fmt: skip
"""What model messages of the AI SDK 5 have not; it knows media in what tools gave by another name."""


LONG = "12345678901234567890"
"""A number that JavaScript rounds."""


def drawn(make: Callable[[Conversation], Any], count: int = CASES.max_examples) -> list[Any]:
    """What is made of as many talks."""
    found = []

    @settings(CASES, max_examples=count, derandomize=True, database=None, phases=[Phase.generate])
    @given(TALKS)
    def collect(talk: Conversation) -> None:
        found.append(make(talk))

    collect()
    return found


@pytest.mark.parametrize("version", ai_sdk.VERSIONS)
@pytest.mark.parametrize("target", KINDS)
def test_the_ai_sdk_takes_what_is_written(version, target):
    written = {
        str(number): each
        for number, each in enumerate(drawn(lambda talk: conversations.dump(talk, target), count=400))
        if each
    }
    if (version, target) == ("5", "model_messages"):
        written = {name: each for name, each in written.items() if not any(word in str(each) for word in BEYOND_5)}
    assert len(written) > 100
    made = ai_sdk.seen(version, KINDS[target], written)
    assert [(written[name], made[name]) for name in written if "error" in made[name]] == []


@pytest.mark.parametrize("target", KINDS)
def test_what_the_ai_sdk_sees_is_the_source_but_for_what_is_told(target):
    def each(source: str) -> list[Written]:
        return drawn(lambda talk: written(held(talk, source), target))

    made = {str(number): each for number, each in enumerate(chain.from_iterable(map(each, readers.NAMES)))}
    documents = {name: each.document for name, each in made.items() if each.document and LONG not in str(each.document)}
    seen = ai_sdk.seen("newest", KINDS[target], documents)
    found = [mistakes(target, made[name], seen[name]) for name in seen]
    assert not any(found), "\n".join(filter(None, found))
