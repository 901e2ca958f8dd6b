"""A record as HTML: all of it is there, calls have their results beside them, and it is bounded."""

import re

from chatsquash.pages.html.record import Showing, answers, articles, cut, fitting, size, tools
from chatsquash.records import StoredRecord
from tests.conftest import assistant, cases, user


def call(name="run", given='{"a": 1}', ident="c1"):
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": given}}


def result(content="done", ident="c1"):
    return {"role": "tool", "tool_call_id": ident, "content": content}


def shown(*messages, defined=None, **showing) -> str:
    return "".join(articles(StoredRecord(list(messages), defined), Showing(place="a.jsonl:1", **showing)))


def test_a_call_has_its_result_beside_it_and_nowhere_else():
    page = shown(user("go"), assistant(None, tool_calls=[call()]), result("RESULT"))
    assert page.count("RESULT") == 1
    assert page.count("<article") == 2
    pair = page[page.index('class="pair"') :]
    assert '{"a": 1}' in pair
    assert 'class="answer" id="m2"' in pair
    assert "RESULT" in pair


def test_a_result_without_a_call_stands_by_itself():
    page = shown(result("alone", "c9"))
    assert "tool result" in page
    assert "alone" in page


def test_a_call_without_a_result_says_so():
    assert "no result" in shown(assistant(None, tool_calls=[call()]))


@cases(
    "said, expected",
    ("by their ids", [[("a", "b")], "b", "a"], {(0, 0): 2, (0, 1): 1}),
    ("an id that is used twice", [[("a",)], "a", [("a",)], "a"], {(0, 0): 1, (2, 0): 3}),
    ("results without ids, in order", [[(None, None)], None, None], {(0, 0): 1, (0, 1): 2}),
    ("a result too many", [[("a",)], "a", "a"], {(0, 0): 1}),
    ("a result before its call", ["a", [("a",)]], {}),
)
def test_results_find_their_calls(said, expected):
    messages = [
        assistant(None, tool_calls=[call(ident=each) for each in item[0]])
        if isinstance(item, list)
        else result(ident=item)
        for item in said
    ]
    assert answers(messages) == expected


def test_the_legacy_form_of_a_call_is_one():
    legacy = assistant(None, function_call={"name": "old", "arguments": "{}"})
    page = shown(legacy, {"role": "function", "name": "old", "content": "ANSWER"})
    assert "old" in page
    assert page.count("<article") == 1
    assert "ANSWER" in page


def test_reasoning_is_folded_and_media_are_their_size():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA"}}
    odd = {"type": "input_audio", "input_audio": {"data": "x" * 3000}}
    page = shown(user([{"type": "text", "text": "see"}, image, odd]), assistant("yes", reasoning_content="THOUGHT"))
    assert re.search(
        r'<details class="thought"><summary>reasoning, 7 B</summary><pre class="thought" dir="auto">\s*THOUGHT', page
    )
    assert "png image, 18 B" in page
    assert "input_audio, 3.0 KB" in page
    assert "iVBOR" not in page


def test_a_long_text_is_cut_and_says_where_the_rest_is():
    page = shown(user("x" * 14_048))
    assert "x" * 2048 in page
    assert "x" * 2049 not in page
    assert "… 12 KB more (a.jsonl:1)" in page
    assert "x" * 14_048 in shown(user("x" * 14_048), text=None)


def test_a_cut_counts_bytes_and_divides_no_character():
    assert cut("é" * 10, 5) == ("éé", 16)
    assert cut("\ud800" * 3, 4) == ("\ud800", 6)
    assert cut("abc", 3) == ("abc", 0)


def test_what_fits_is_shown_of_the_beginning_and_of_the_end():
    held = StoredRecord([user(f"{n} " + "x" * 1000) for n in range(100)], None)
    kept = fitting(held, Showing(place="a.jsonl:1"), 10_000)
    assert 8_000 < sum(len(each) for each in kept) < 10_200
    (cut,) = [at for at, each in enumerate(kept) if 'class="cut"' in each]
    assert f"… {100 - len(kept) + 1} of 100 turns are not shown here (a.jsonl:1)" in kept[cut]
    assert 'id="m0"' in kept[0]
    assert 'id="m99"' in kept[-1]
    assert cut > len(kept) / 2


@cases(
    "messages",
    ("texts full of special characters", [user("<" * 5000) for _ in range(9)]),
    ("a message of many calls", [assistant(None, tool_calls=[call(given="<" * 5000, ident=str(n)) for n in range(500)])]),
    ("a message of many media", [user([{"type": "image", "image": "<" * 300}] * 5000)]),
    ("many messages", [user("<" * 100) for _ in range(4000)]),
    ("many results", [assistant(None, tool_calls=[call()]), *[result("&" * 5000) for _ in range(3000)]]),
)  # fmt: skip
def test_whatever_a_record_holds_it_fits(messages):
    kept = fitting(StoredRecord(messages, None), Showing(place="a.jsonl:1"), 40_000)
    assert any("<article" in each for each in kept)
    assert sum(len(each.encode()) for each in kept) <= 40_200


def test_a_message_is_called_by_its_place_in_the_file_and_only_once():
    held = StoredRecord([user("a"), assistant("b"), result("c")], None, [0, 1, 1])
    page = "".join(articles(held, Showing(prefix="r1-", notes={1: ["NOTE <b>"]})))
    assert re.findall(r'<article[^>]* id="([^"]*)"', page) == ["r1-0", "r1-1"]
    assert "NOTE &lt;b&gt;" in page


def test_flags_are_told():
    assert "not trained on" in shown(assistant("a", weight=0))
    assert "not trained on" not in shown(assistant("a", weight=1))


def test_tools_are_named():
    assert tools(StoredRecord([], None)) is None
    defined = [{"name": "<b>"}, {"type": "function", "function": {"name": "inner"}}]
    page = tools(StoredRecord([], defined))
    assert "2 tools" in page
    assert "&lt;b&gt;" in page
    assert "inner" in page


@cases(
    "bad",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</pre></article></details><style>*{display:none}</style>",
    "<svg/onload=alert(1)>",
    "\x00\x1b[2J\x9b\u202eevil",
)
def test_no_place_of_a_record_lets_markup_through(bad):
    messages = [
        {"role": bad, "name": bad, "tool_call_id": bad, "content": bad},
        user(
            [{"type": "text", "text": bad}, {"type": bad, bad: bad}, {"type": "image_url", "image_url": {"url": bad}}]
        ),
        assistant(bad, reasoning_content=bad, tool_calls=[call(bad, bad, bad), {"id": [bad], bad: bad}]),
        result(bad, bad),
        user({bad: bad}),
    ]
    page = shown(*messages, defined=[{"name": bad}], notes={0: [bad]})
    found = set(re.findall(r"<([a-z0-9]+)", page))
    assert found <= {"article", "header", "a", "h4", "span", "p", "pre", "details", "summary", "div", "code"}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)


def test_sizes_are_for_people():
    assert [size(n) for n in (0, 999, 1000, 12_345, 999_999, 2_500_000)] == [
        "0 B", "999 B", "1.0 KB", "12 KB", "1.0 MB", "2.5 MB",
    ]  # fmt: skip
