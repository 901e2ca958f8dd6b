"""Content of a wrong type, and a last reply that says nothing."""

import pytest

from chatsquash.checks.contents import first_violation
from chatsquash.checks.registry import View

from .rows import Row, assistant, call, found, names, result, talk, user

IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


def said(content, **fields):
    """A record that ends with this reply."""
    return talk(user(), {"role": "assistant", "content": content, **fields})


ROWS = [
    Row("wrong-content", "a string, a list and null are fine", talk(user(["x"]), assistant(None, call()), result())),
    Row("wrong-content", "missing content is fine", talk(user(), {"role": "assistant", "tool_calls": [call()]}, result())),
    Row("wrong-content", "a number", talk(user(5), assistant()), "error 0"),
    Row("wrong-content", "a number that is no integer", talk(user(0.5), assistant()), "error 0"),
    Row("wrong-content", "an object", talk(user({"a": 1}), assistant()), "error 0"),
    Row("wrong-content", "an empty object", talk(user({}), assistant()), "error 0"),
    Row("wrong-content", "true and false", talk(user(True), assistant(False)), "error 0, error 1"),
    Row("wrong-content", "a result that is an object", talk(user(), assistant("", call()), result({"ok": True}), assistant()), "error 2"),
    Row("wrong-content", "that of the last reply, which is then not empty", said(0), "error 1"),
    Row("empty-reply", "a text", said("0")),
    Row("empty-reply", "a text in parts", said([{"type": "text", "text": "x"}])),
    Row("empty-reply", "an image", said([IMAGE])),
    Row("empty-reply", "a call", talk(user(), assistant("", call()), result())),
    Row("empty-reply", "a call in the legacy form", said(None, function_call={"name": "f"}), "legacy-function-call error 1"),
    Row("empty-reply", "reasoning", said("", reasoning_content="hm")),
    Row("empty-reply", "reasoning in another spelling", said(None, thinking_blocks=[{"type": "thinking", "thinking": "hm"}])),
    Row("empty-reply", "reasoning in a part", said([{"type": "thinking", "thinking": "hm"}])),
    Row("empty-reply", "a refusal", said(None, refusal="I will not.")),
    Row("empty-reply", "speech", said(None, audio={"id": "a"})),
    Row("empty-reply", "an empty one that is not the last", talk(user(), assistant(""), user(), assistant())),
    Row("empty-reply", "no reply at all is another matter", talk(user())),
    Row("empty-reply", "an empty text", said(""), "error 1"),
    Row("empty-reply", "white space", said(" \n\t"), "error 1"),
    Row("empty-reply", "null", said(None), "error 1"),
    Row("empty-reply", "no part", said([]), "error 1"),
    Row("empty-reply", "parts without text", said(["", {"type": "text", "text": " "}]), "error 1"),
    Row("empty-reply", "members that say nothing", said("", tool_calls=[], reasoning_content=" ", refusal=None, audio=None), "error 1"),
    Row("empty-reply", "missing content", talk(user(), {"role": "assistant"}), "error 1"),
    Row("empty-reply", "the last of the assistant, also with others behind it", talk(user(), assistant(""), user()), "error 1"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_contents(row):
    assert found(row) == row.expected


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_record_is_unfit_where_one_of_the_two_is_found(row):
    codes = [each for each in row.expected if each[0] in ("wrong-content", "empty-reply")]
    why = first_violation(View(row.conversation))
    assert (why and (why.code, why.severity, why.at)) == (codes[0] if codes else None)
