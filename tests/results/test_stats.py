"""What ``stats`` counts, shows and refuses."""

import json
from dataclasses import astuple

import orjson
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from chatsquash.core.errors import UsageError
from chatsquash.results import stats as counting
from chatsquash.results.stats import stats
from chatsquash.results.stats_table import sparkline
from chatsquash.results.template import template
from chatsquash.templates.counting import Counter, pack
from chatsquash.templates.counting import Tokenizer as Tokens
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases

CALLED = {
    "messages": [
        {"role": "system", "content": "12345"},
        user("1234"),
        assistant("", call(arguments='{"a":1}'), call("c2", "ls"), reasoning_content="123"),
        result("12"),
        result([{"type": "text", "text": "1"}, {"type": "image_url"}], "c2"),
        assistant("1"),
    ],
    "tools": [tool(), {"type": "function", "function": tool("ls")}, tool("unused")],
}
CHAT = {"messages": [user("12"), assistant("123")], "tools": []}


def counter(path, rendered=None):
    return Counter(Tokens(pack(path)), rendered)


def write(path, *records):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return str(path)


@pytest.fixture
def tokenizer(tmp_path):
    """A tokenizer whose tokens are words."""
    made = Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.enable_truncation(2)
    made.enable_padding(length=50)
    made.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path / "tokenizer.json")


def test_records_messages_calls_and_tools_are_counted(tmp_path):
    found = stats([write(tmp_path / "a.jsonl", CALLED, CHAT, CALLED, "[]", "{")])
    assert (found.files, found.records, found.unreadable, found.duplicates) == (1, 3, 2, 1)
    assert found.roles == {"tool": 4, "assistant": 5, "user": 3, "system": 2}
    assert (found.with_tools, found.with_calls) == (2, 2)
    assert {name: astuple(count) for name, count in found.tools.items()} == {
        "grep": (2, 2, 2), "ls": (2, 2, 2), "unused": (2, 0, 0)}  # fmt: skip


def test_characters_are_those_of_texts_reasoning_and_calls(tmp_path):
    found = stats([write(tmp_path / "a.jsonl", CALLED)])
    said, called = len("1234512341231211"), len('grep{"a":1}ls{}')
    assert found.spreads["characters"].total == said + called
    assert found.spreads["characters of tools"].total == len(json.dumps(CALLED["tools"], separators=(",", ":")))
    assert found.spreads["tool calls"].total == 2


def test_spreads_are_exact_to_three_digits(tmp_path):
    lengths = [*range(1, 101), 123456]
    found = stats([write(tmp_path / "a.jsonl", *({"messages": [user("x" * n)]} for n in lengths))])
    assert found.spreads["characters"][:-1] == (sum(lengths), sum(lengths) / 101, 51, 91, 100, 123456)
    assert found.spreads["messages"] == (101, 1.0, 1, 1, 1, 1, [0, 101])


def test_no_rounded_value_exceeds_the_most(tmp_path):
    spread = stats([write(tmp_path / "a.jsonl", {"messages": [user("x" * 1999)]})]).spreads["characters"]
    assert spread[:-1] == (1999, 1999.0, 1999, 1999, 1999, 1999)


def test_batches_change_nothing(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jsonl", *[CALLED, CHAT, *({"messages": [user("x" * n)]} for n in range(9))] * 3)
    whole = stats([path])
    monkeypatch.setattr(counting, "_BATCH", 2)
    assert stats([path]) == whole


def test_the_longest_records_are_named_by_their_places(tmp_path):
    first = write(tmp_path / "a.jsonl", *({"messages": [user("x" * n)]} for n in (3, 9, 5)))
    second = write(tmp_path / "b.jsonl", *({"messages": [user("x" * n)]} for n in (7, 9, 1, 2)))
    assert stats([first, second]).longest == [
        (9, 1, first, 2), (9, 1, second, 2), (7, 1, second, 1), (5, 1, first, 3), (3, 1, first, 1),
    ]  # fmt: skip


def test_splits_are_told_by_the_names_of_files(tmp_path):
    for name, count in (("train-00000-of-00002", 2), ("train-00001-of-00002", 1), ("a-b-00000-of-00001", 1)):
        write(tmp_path / "data" / f"{name}.jsonl", *[CHAT] * count)
    assert stats([str(tmp_path)]).splits == {"train": 3, "a-b": 1}


def test_a_histogram_counts_records_by_powers_of_two(tmp_path):
    lengths = (0, 1, 2, 3, 4, 7, 8)
    path = write(tmp_path / "a.jsonl", *({"messages": [user("x" * length)]} for length in lengths))
    assert stats([path]).spreads["characters"].histogram == [1, 1, 2, 2, 1]


@cases(
    "histogram, bars", ([], ""), ([0, 0], ""), ([0, 3], "█"), ([1, 1000], "▁█"), ([0, 4, 0, 8], "▄ █"), ([8, 0], "█ ")
)
def test_a_sparkline_begins_with_the_smallest_size_that_there_is(histogram, bars):
    assert sparkline(histogram) == bars


def test_an_empty_dataset_has_no_spreads(command, tmp_path):
    ended = command("stats", write(tmp_path / "a.jsonl"))
    assert (ended.code, ended.out.splitlines()[0]) == (0, "0 records in 1 file")


def test_tokens_are_those_of_all_texts_neither_cut_nor_filled(tmp_path, tokenizer):
    record = {"messages": [user("one two three"), assistant("four", reasoning_content="five \ud800 six")], "tools": []}
    found = stats([write(tmp_path / "a.jsonl", record)], counter(tokenizer))
    assert found.spreads["tokens"].total == 7


def test_tokens_of_a_template_are_those_of_the_rendering(tmp_path, tokenizer):
    (tmp_path / "a.jinja").write_text("{% for m in messages %}{{ m.role }} : {{ m.content }} {% endfor %}")
    path = write(tmp_path / "a.jsonl", {"messages": [user("one two three"), assistant("four")], "tools": []})
    assert stats([path], counter(tokenizer, template(str(tmp_path / "a.jinja")))).spreads["tokens"].total == 8


def test_a_record_that_the_template_refuses_has_no_length(command, tmp_path, tokenizer):
    (tmp_path / "a.jinja").write_text("{% if messages | length > 2 %}{{ raise_exception('no') }}{% endif %}x y")
    path = write(tmp_path / "a.jsonl", {"messages": [user("one")]}, {"messages": [user("one")] * 3})
    found = stats([path], counter(tokenizer, template(str(tmp_path / "a.jinja"))))
    assert (found.records, found.records_refused, found.spreads["tokens"].mean) == (2, 1, 2)
    ended = command("stats", path, "--tokenizer", tokenizer, "--template", str(tmp_path / "a.jinja"))
    assert "1 record rejected by the template, whose tokens are not counted\n" in ended.out
    assert command("stats", path, "--tokenizer", str(tmp_path)).code == 0


TABLE = """\
3 records in 2 files
1 line that is not a record: run chatsquash check

duplicates   1  repeat an earlier record
splits       3  2 train, 1 validation
messages    10  4 assistant, 3 user, 2 tool, 1 system
tools           defined in 1, called in 1 record

per record           total  mean  median  90%  99%  most  records by size
messages                10   3.3       2    6    6     6  █▄
assistant messages       4   1.3       1    2    2     2  █▄
tool calls               2   0.7       0    2    2     2  █ ▄
characters              40  13.3       5   30   30    30  █ ▄
characters of tools    279  93.0       0  279  279   279  █        ▄

tool    defined in  called in  calls
gr\\x1b           1          1      1
ls               1          1      1
unused           1          0      0

longest                         characters  messages
{0}/train-00000-of-00001.jsonl:2          30         6
"""


def test_the_table_shows_it_all_escaped(command, tmp_path):
    odd = json.loads(json.dumps(CALLED).replace("grep", "gr\\u001b"))
    write(tmp_path / "data" / "train-00000-of-00001.jsonl", CHAT, odd)
    write(tmp_path / "data" / "validation-00000-of-00001.jsonl", CHAT, "[]")
    ended = command("stats", tmp_path)
    assert (ended.code, ended.err) == (3, "")
    lines = ended.out.splitlines()
    assert [line.split() for line in lines[: len(TABLE.splitlines())]] == [
        line.split() for line in TABLE.format(tmp_path / "data").splitlines()
    ]


def test_json_has_it_all(command, tmp_path):
    ended = command("stats", write(tmp_path / "a.jsonl", CALLED, CHAT), "--json")
    found = orjson.loads(ended.out)
    assert (ended.code, found["records"], found["duplicates"], found["splits"]) == (0, 2, 0, {})
    assert found["spreads"]["characters_of_tools"]["p99"] > 0
    assert found["tools"]["ls"] == {"defined_in": 1, "called_in": 1, "calls": 1}
    assert found["longest"][0]["record"] == 1


def test_tools_beyond_twenty_are_counted(command, tmp_path):
    ended = command(
        "stats", write(tmp_path / "a.jsonl", {"messages": [user()], "tools": [tool(f"t{n}") for n in range(23)]})
    )
    assert "and 3 more" in ended.out


@cases(
    "options, message",
    (
        ["--template", "a.jinja"],
        "--template has no effect without --tokenizer; add it because the model has no tokenizer.json",
    ),
    (
        ["--tokenizer", "nowhere.json"],
        "nowhere.json: no such file or folder; pass one, or a model in the Hugging Face cache",
    ),
)
def test_what_cannot_be_counted_is_told(command, tmp_path, options, message):
    ended = command("stats", write(tmp_path / "a.jsonl", CHAT), *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_without_tokenizers_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UsageError, match=r"chatsquash\[tokens\]"):
        Tokens(b"{}")
