"""What is written for Gemini is what Google's own types take."""

from __future__ import annotations

import pytest
from google.genai import types
from pydantic import TypeAdapter, ValidationError

from chatsquash.core import jsonio
from chatsquash.formats import bodies, get_format
from chatsquash.formats.providers import gemini as ours
from chatsquash.translate import losses
from tests.conformance.shared import EACH_KIND, RECORDED, tools, written
from tests.conftest import needs_real_exchanges

CONTENTS = TypeAdapter(list[types.Content])
BESIDE = {"thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution"}
"""What a part may have beside the thing that it is."""


def held(value):
    """What the types hold of contents, in the standard alphabet of base64."""
    found = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in value]
    return jsonio.loads(jsonio.dumps(found).replace(b"-", b"+").replace(b"_", b"/"))


@pytest.mark.parametrize("conversation", written("gemini"))
def test_what_is_written_is_what_googles_types_take(conversation):
    body = ours.dump(conversation)
    if "systemInstruction" in body:
        types.Content.model_validate(body["systemInstruction"])
    # As JSON, since only there data and signatures must be base64.
    contents = CONTENTS.validate_json(jsonio.dumps(body["contents"]))
    plain = jsonio.loads(jsonio.dumps(body["contents"]).replace(b"-", b"+").replace(b"_", b"/"))
    assert held(contents) == plain, "nothing is lost in them"


@pytest.mark.parametrize("conversation", written("gemini"))
def test_roles_are_geminis_and_each_part_is_one_thing(conversation):
    """Which the types do not check."""
    for content in ours.dump(conversation)["contents"]:
        assert content["role"] in ("user", "model")
        assert content["parts"]
        kinds = [part.keys() - BESIDE for part in content["parts"]]
        assert all(len(kind) == 1 for kind in kinds)


@EACH_KIND
def test_every_result_is_in_the_content_behind_the_one_that_calls(conversation):
    contents = ours.dump(conversation)["contents"]
    for before, content in zip([{"parts": []}, *contents], contents, strict=False):
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        called = [part["functionCall"] for part in before["parts"] if "functionCall" in part]
        links = sorted((each["id"], each["name"]) for each in results)
        assert links in ([], [("call_gone", "weather")], sorted((each["id"], each["name"]) for each in called))


@pytest.mark.parametrize("conversation", tools("gemini"))
def test_tools_are_what_googles_types_take(conversation):
    types.Tool.model_validate(ours.dump(conversation)["tools"][0])


@needs_real_exchanges
@pytest.mark.parametrize("name, conversation", RECORDED)
def test_a_recorded_request_of_any_format_is_written(name, conversation):
    test_what_is_written_is_what_googles_types_take(conversation)
    for tool in ours.dump(conversation).get("tools", []):
        types.Tool.model_validate(tool)
    if name == ours.NAME:
        back = bodies.load(get_format("gemini"), ours.dump(conversation))
        assert losses.differences(conversation, back) == []


def test_the_types_refuse_what_is_wrong():
    """Else there would be no check at all."""
    for part in ({"functionResponse": {"name": "f", "response": [1]}}, {"txt": "a"}):
        with pytest.raises(ValidationError):
            CONTENTS.validate_python([{"role": "user", "parts": [part]}])
    with pytest.raises(ValidationError):
        CONTENTS.validate_json(jsonio.dumps([{"parts": [{"text": "a", "thoughtSignature": "no base64"}]}]))
