"""The unions of parts in documents of Pydantic AI and the AI SDK, as Pydantic AI has its types, and documents with one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from pydantic_ai import messages
from pydantic_ai.ui.vercel_ai import request_types as ui

from tests.conformance.examples import Shape, examples, label, union
from tests.conformance.sdk_unions import Member, Union

_TYPES = {
    "pydantic_ai": messages.ModelMessagesTypeAdapter,
    "vercel_ai": TypeAdapter(list[ui.UIMessage]),
}
_NAMED = {
    **{
        name: Shape(base={"type": "tool-look"}) for name in dir(ui) if name.startswith("Tool") and name.endswith("Part")
    },
    "DataUIPart": Shape(base={"type": "data-look"}),
}
"""Parts whose type ends with a name."""


def _request(part: Any) -> Any:
    """With a prompt after the part, since what no model is shown is kept with a turn."""
    asked = {"part_kind": "user-prompt", "content": "Which one?"}
    return [{"kind": "request", "parts": [part, asked]}]


def _response(part: Any) -> Any:
    asked = {"part_kind": "user-prompt", "content": "Which one?"}
    return [{"kind": "request", "parts": [asked]}, {"kind": "response", "parts": [part]}]


def _ui(part: Any) -> Any:
    asked = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "Which one?"}]}
    return [asked, {"id": "n", "role": "assistant", "parts": [part]}]


UNIONS = [
    Union("pydantic_ai", "part of a request", messages.ModelRequestPart, _request),
    Union("pydantic_ai", "part of a response", messages.ModelResponsePart, _response),
    Union("vercel_ai", "part of a message", ui.UIMessagePart, _ui, shapes=_NAMED),
]


def _is_valid(each: Union, value: Any) -> bool:
    """Whether a document with a value is valid, which validators of the types decide, too."""
    try:
        _TYPES[each.format].validate_python(each.exchange(value))
    except ValidationError:
        return False
    return True


def _members() -> Iterator[Any]:
    for each in UNIONS:
        for of in union(each.type):
            found = [made for made in examples(of, each.depth, each.shapes) if _is_valid(each, made.value)]
            yield pytest.param(Member(each, label(of), found), id=f"{each.name}-{label(of)}")


DOCUMENTS = list(_members())
