"""What JSON holds that does not print is escaped wherever it is shown, and is still the same JSON."""

import ast
import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.cli import main
from chatsquash.core.text import printable_json
from tests.conftest import cases, log_line, write_log

HOSTILE = "\x9b31m\x07\x1b[2J\x7f\u200e\u202e\u2066\u2028\u2029\ufeff\u00ad\udc80\U000e0041"
ANY = st.text(st.characters(exclude_categories=()), max_size=8) | st.just(HOSTILE)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=8,
)


@cases(
    "text, expected",
    ("controls of C0", "\x00\n\t\x1b", rb"\u0000\n\t\u001b"),
    ("DEL, and controls of C1", "\x7f\x80\x9b", rb"\u007f\u0080\u009b"),
    ("bidi marks", "\u200e\u200f\u061c\u202a\u202e\u2066\u2069", rb"\u200e\u200f\u061c\u202a\u202e\u2066\u2069"),
    ("other ends of lines", "\u2028\u2029\x85", rb"\u2028\u2029\u0085"),
    ("lone surrogates", "\ud800\udfff", rb"\ud800\udfff"),
    ("what does not print beyond 16 bits", "\U000e0041", rb"\udb40\udc41"),
    ("letters of any script, signs and emoji stay", "é日本語\U0001f600", "é日本語\U0001f600".encode()),
)
def test_what_does_not_print_is_escaped(text, expected):
    assert printable_json(text) == b'"' + expected + b'"'
    assert printable_json({text: 1}, indent=True) == b'{\n  "' + expected + b'": 1\n}'


@given(VALUES, st.booleans())
def test_it_prints_and_loads_as_the_value_that_it_was(value, indent):
    spelled = printable_json(value, indent=indent)
    assert all(line.isprintable() for line in spelled.decode().split("\n"))
    assert json.loads(spelled) == value
    assert indent or b"\n" not in spelled


@given(VALUES)
def test_what_prints_is_spelled_as_ever(value):
    try:
        usual = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        return
    if usual.decode().replace("\n", "").isprintable():
        assert printable_json(value, indent=True) == usual


def record(*extra):
    messages = [{"role": f"user{HOSTILE}", "content": HOSTILE}, {"role": "assistant", "content": HOSTILE}]
    return {"messages": messages, "tools": [{"name": f"tool{HOSTILE}"}], **dict(extra)}


COMMANDS = [
    ("stats", ["stats", "d.jsonl", "--json"]),
    ("check", ["check", "d.jsonl", "--json"]),
    ("convert", ["convert", "logs", "--json", "--only-model", "x*", "-o", f"out{HOSTILE}"]),
    ("translate", ["translate", "a.json", "--to", "openai_chat", "-o", "-"]),
]


@pytest.mark.parametrize("name, arguments", COMMANDS, ids=[row[0] for row in COMMANDS])
def test_no_command_prints_json_that_a_terminal_would_obey(command, tmp_path, monkeypatch, name, arguments):
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text(json.dumps(record()) + "\n" + json.dumps(record(("tools", HOSTILE))) + "\n")
    Path("a.json").write_text(json.dumps({"messages": [{"role": "user", "content": HOSTILE}]}))
    write_log(Path(f"logs/{HOSTILE}.jsonl"), log_line(HOSTILE, session_id=HOSTILE))
    _, out, _ = command(*arguments)
    assert out
    assert all(line.isprintable() for line in out.split("\n"))
    values = [json.loads(line) for line in out.splitlines()] if name == "check" else [json.loads(out)]
    assert values


def test_the_command_itself_writes_no_json():
    paths = [Path(main.__file__).with_name(name) for name in ("main", "conversion", *main.COMMANDS)]
    modules = [
        file for path in paths for file in ([*path.glob("*.py")] if path.is_dir() else [path.with_suffix(".py")])
    ]
    nodes = (node for module in modules for node in ast.walk(ast.parse(module.read_text("utf-8"))))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    assert not names & {"json", "orjson", "jsonio"}
