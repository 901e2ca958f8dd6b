import pytest

from chatsquash.checks import examine, tags
from chatsquash.checks.registry import View

from .rows import Row, assistant, call, found, names, talk, user

BLOCK = '<tool_call>{"name": "grep", "arguments": {"a": 1}}</tool_call>'
HOLDS_OPEN = '<tool_call>{"name": "grep", "arguments": {"a": "<tool_call>"}}</tool_call>'
WRAPPED = '<tool_result tool_call_id="c1">done</tool_result>'


def said(text, **fields):
    return talk(user(), assistant(text, **fields))


def answer(content, **fields):
    return talk({"role": "tool", "content": content, **fields})


ROWS = [
    Row("tool-call-tags", "text without tags is fine", said("hello")),
    Row("tool-call-tags", "blocks after text are fine", said(f"let me see\n{BLOCK}\n{BLOCK}")),
    Row("tool-call-tags", "null content is fine", said(None)),
    Row("tool-call-tags", "only assistants are looked at", talk(user("<tool_call>")), "markup-collision warning 0"),
    Row("tool-call-tags", "an opening tag alone is found", said("<tool_call>"), "error 1, markup-collision warning 1"),
    Row("tool-call-tags", "a closing tag alone is found", said(f"{BLOCK}</tool_call>"), "error 1, markup-collision warning 1"),
    Row("tool-call-tags", "equal numbers in the wrong order are found", said("</tool_call><tool_call>"), "error 1, markup-collision warning 1"),
    Row("tool-call-tags", "nested pairs are found", said(f"<tool_call>{BLOCK}</tool_call>"), "error 1, markup-collision warning 1"),
    Row("tool-call-tags", "an opening tag in an argument is the argument's", said(HOLDS_OPEN)),
    Row("tool-calls-with-markup", "markup alone is fine", said(BLOCK)),
    Row("tool-calls-with-markup", "calls alone are fine, they could not be inlined", said("hi", tool_calls=[call(name="")])),
    Row("tool-calls-with-markup", "an empty tool_calls stays", said(BLOCK, tool_calls=[])),
    Row("tool-calls-with-markup", "both are found", said(BLOCK, tool_calls=[call()]), "error 1"),
    Row("tool-result-tags", "a wrapped result is fine", answer(WRAPPED)),
    Row("tool-result-tags", "a wrapped nothing is fine", answer('<tool_result tool_call_id="c1"></tool_result>')),
    Row("tool-result-tags", "escaped quotes in the id are fine", answer('<tool_result tool_call_id="&quot;&lt;>">x\ny</tool_result>')),
    Row("tool-result-tags", "text alone is found", answer("done", tool_call_id="c1"), "error 0"),
    Row("tool-result-tags", "null is found", answer(None), "error 0"),
    Row("tool-result-tags", "a content list is found", answer([{"type": "text", "text": "done"}]), "error 0"),
    Row("tool-result-tags", "a missing id is found", answer("<tool_result>x</tool_result>"), "error 0, markup-collision warning 0"),
    Row("tool-result-tags", "anything around is found", answer(f"{WRAPPED}\n"), "error 0, markup-collision warning 0"),
    Row("tool-result-tags", "half a wrapper is found", answer('<tool_result tool_call_id="c1">'), "error 0, markup-collision warning 0"),
    Row("markup-collision", "well-formed blocks are markup", said(f"so\n{BLOCK}\n{BLOCK}")),
    Row("markup-collision", "the wrapper is markup", answer(WRAPPED)),
    Row("markup-collision", "other tags are text", talk(user("<tool_calls> <tool> </tool_results>"))),
    Row("markup-collision", "a result's text is looked at", answer(WRAPPED.replace("done", "a </tool_result> b")), "warning 0"),
    Row("markup-collision", "a result that holds a call is found", answer(WRAPPED.replace("done", BLOCK)), "warning 0"),
    Row("markup-collision", "a system prompt that explains the tags is found", talk({"role": "system", "content": BLOCK}), "warning 0"),
    Row("markup-collision", "a user's content list is looked at", talk(user([{"type": "text", "text": "<tool_result "}])), "warning 0"),
    Row("markup-collision", "an assistant's result tag is found", said(f"</tool_result>\n{BLOCK}"), "warning 1"),
    Row("markup-collision", "a block that is no JSON is text", said("<tool_call>{}</tool_call>"), "warning 1"),
    Row("markup-collision", "a block without a name is text", said('<tool_call>{"arguments": 1}</tool_call>'), "warning 1"),
    Row("markup-collision", "an opening tag before a block is found", said(f"<tool_call> is a tag\n{BLOCK}"), "tool-call-tags error 1, warning 1"),
    Row("markup-collision", "taking blocks out does not make tags", said(f"<tool_{BLOCK}call>")),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_tags(row):
    assert found(row) == row.expected


HOSTILE = {
    "opening tags": "<tool_call>" * 190_000,
    "opening tags and one closing": "<tool_call>" * 190_000 + "</tool_call>",
    "openings that look like JSON": '<tool_call>{"name":' * 110_000 + "</tool_call>",
    "closing tags": "</tool_call>" * 170_000,
    "empty pairs": "<tool_call></tool_call>" * 90_000,
    "deep nesting": "<tool_call>" + '{"name":' * 250_000 + "</tool_call>",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_two_megabytes_of_tags_are_found_once_and_soon(text):
    """Quadratic work would take minutes here, which no test run would bear."""
    codes = [fact.code for fact in examine(View(said(text)), "inlined")]
    assert "markup-collision" in codes
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_character_is_parsed_more_than_twice(text, monkeypatch):
    parsed = []
    loads = tags.jsonio.loads
    monkeypatch.setattr(tags.jsonio, "loads", lambda piece: (parsed.append(len(piece)), loads(piece))[1])
    list(examine(View(said(text)), "inlined"))
    assert sum(parsed) <= 2 * len(text)


def test_many_well_formed_blocks_are_no_finding():
    assert not list(examine(View(said("\n".join([BLOCK] * 30_000))), "inlined"))
