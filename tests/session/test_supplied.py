"""What logs lack, from files that may hold anything."""

import json
import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chatsquash.core.errors import UsageError
from chatsquash.session.stages import supplied_definitions
from chatsquash.session.stages.supplied_definitions import Supplied, Table, as_toml, supply
from tests.checks.rows import assistant, talk, tool, user
from tests.conftest import cases
from tests.session.streams import facts, staged

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GREP, LS = tool("grep"), tool("ls")
WRAPPED = {"type": "function", "function": GREP}
SPELLED = json.dumps([GREP])

# What is read


@cases("text, expected",
    ("a list of definitions is for all", SPELLED, [Table(tools=[GREP])]),
    ("definitions may be wrapped", json.dumps([WRAPPED, LS]), [Table(tools=[GREP, LS])]),
    ("a byte order mark is nothing", "\ufeff" + SPELLED, [Table(tools=[GREP])]),
    ("a table without an agent is for all", f"[[for]]\ntools = '{SPELLED}'", [Table(tools=[GREP])]),
    ("behind comments, in any spelling of its head", f"\ufeff# a\r\n\r\n \t[[ for ]]\r\ntools = '{SPELLED}'", [Table(tools=[GREP])]),
    ("definitions may be tables", '[[for]]\ntools = [{name = "ls", n = 1, f = [0.5, true]}]', [Table(tools=[{"name": "ls", "n": 1, "f": [0.5, True]}])]),
    ("so they may below it", '[[for]]\nagent = "codex"\n[[for.tools]]\nname = "ls"', [Table("codex", None, [{"name": "ls"}])]),
    ("tables without any are none", f"[[for]]\nsystem = 'x'\n[[for]]\nagent = 'codex'\ntools = '{SPELLED}'", [Table("codex", None, [GREP])]),
)  # fmt: skip
def test_files_of_definitions(text, expected):
    found = [replace(table, system=None) for table in supplied_definitions.tools(text.encode(), "f")]
    assert found == expected


@cases("text, expected",
    ("a text is for all", "Be brief.\nAnd kind.\n", [Table(system="Be brief.\nAnd kind.")]),
    ("a text that begins with a list is a text", "[1] Be brief.", [Table(system="[1] Be brief.")]),
    ("tables have one each", "[[for]]\nagent = 'codex'\nsystem = 'x'\n[[for]]\nagent = 'codex'\nversion = '1'\nsystem = 'y'", [Table("codex", None, None, "x"), Table("codex", "1", None, "y")]),
)  # fmt: skip
def test_files_of_system_prompts(text, expected):
    assert [*supplied_definitions.system(text.encode(), "f")] == expected


FOR = "[[for]]\n"
BOTH = [
    ("no TOML", FOR + "agent = x", "f: not valid TOML (Invalid value (at line 2, column 9))"),
    ("a member that is not known", FOR + "include = 'x'", "f: [[for]] 1: unknown key 'include'; use agent, version, tools or system"),
    ("what stands outside", FOR + "tools = '[]'\n[other]\n", "f: 'other' is outside [[for]]; move it below one"),
    ("an agent that is not known", FOR + "agent = 'claude'", "f: [[for]] 1: unknown agent 'claude'; did you mean claude_ai or claude_code? Expected one of gemini, "),
    ("an agent that is no text", FOR + "agent = 5", "f: [[for]] 1: agent is a number; write a string in quotes"),
    ("a version of no agent", FOR + "version = '1'", "f: [[for]] 1 has a version but no agent; add the agent"),
    ("two tables for the same logs", FOR + "system = 'x'\n" + FOR + "system = 'y'", "f: [[for]] 2 is for the same logs as [[for]] 1; give each a different agent or version"),
    ("a system prompt that is none", FOR + "system = ''", "f: [[for]] 1: system is empty; write a string in quotes"),
    ("definitions that are no JSON", FOR + "tools = '['", "f: [[for]] 1: tools is not valid JSON; write a list of definitions"),
    ("definitions that are no list", FOR + "tools = '{}'", "f: [[for]] 1: tools is an object; write a list of definitions"),
    ("no definitions", FOR + "tools = []", "f: [[for]] 1: tools is an empty list; write a list"),
    ("a definition that is none", FOR + "tools = [{name = 'a'}, 'b']", "f: [[for]] 1: tools: definition 2 is a string; write an object"),
    ("a date", FOR + "tools = [{name = 2026-01-01}]", "f: [[for]] 1: tools has a date or a number that JSON does not support"),
    ("no number", FOR + "tools = [{name = inf}]", "f: [[for]] 1: tools has a date or a number that JSON does not support"),
    ("no UTF-8", FOR.encode() + b"\xff", "f:2: not valid UTF-8; save it as UTF-8"),
    ("a file that is too large", FOR + "#" * supplied_definitions.MAX_SIZE, "f: file is larger than 16 MiB"),
    ("brackets without end", FOR + "tools = " + "[" * 100_000, "f: cannot be parsed as TOML"),
    ("a key without end", FOR + "a." * 1_000_000 + "b = 1", "f:2: a key has more than 32 parts"),
    ("one of quoted parts", FOR + '"a b" . \'c\'.' * 500_000 + "b = 1", "f:2: a key has more than 32 parts"),
    ("a number without end", FOR + "tools = " + "1" * 10_000, "f: cannot be parsed as TOML"),
    ("an escape to the terminal", FOR + "\x1b[2J", "f: not valid TOML (Invalid statement (at line 2, column 1))"),
]  # fmt: skip
WRONG_TOOLS = [
    ("neither", "agent = 'x'", "f: neither a JSON list of definitions nor tables that begin with [[for]]"),
    ("an empty file", "", "f: neither"),
    ("an object", "{}", "f is an object; write a list of definitions as in a request"),
    ("brackets without end", "[" * 100_000, "f: neither"),
    ("tables without definitions", FOR + "system = 'x'", "f: no [[for]] has tools; add it, or omit the option"),
]
WRONG_SYSTEM = [
    ("an empty file", " \n", "f: file is empty; write a system prompt, or tables"),
    ("no UTF-8", b"a\n\xff", "f:2: not valid UTF-8; save it as UTF-8"),
    ("tables without one", FOR + f"tools = '{SPELLED}'", "f: no [[for]] has system; add it, or omit the option"),
]
WRONG = [
    *((supplied_definitions.tools, *row) for row in BOTH + WRONG_TOOLS),
    *((supplied_definitions.system, *row) for row in BOTH + WRONG_SYSTEM),
]


@pytest.mark.parametrize("parse, sentence, text, message", WRONG, ids=[f"{row[0].__name__}: {row[1]}" for row in WRONG])
def test_a_file_that_cannot_be_meant_is_refused(parse, sentence, text, message):
    started = time.monotonic()
    with pytest.raises(UsageError) as caught:
        parse(text if isinstance(text, bytes) else text.encode(), "f")
    assert str(caught.value).startswith(message)
    assert str(caught.value).isprintable()
    assert time.monotonic() - started < 10


def test_a_file_that_cannot_be_opened_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"gone: cannot be read \(No such file"):
        supplied_definitions.read(str(tmp_path / "gone"), supplied_definitions.tools)


def test_what_the_docs_show_is_read():
    page = (Path(__file__).parents[2] / "docs/conversion.md").read_bytes()
    (block,) = re.findall(rb"```toml\n(.*?)```", page, re.DOTALL)
    assert [(each.agent, each.version) for each in supplied_definitions.tools(block, "f")] == [
        ("claude_code", "2.1.0"),
        ("codex", None),
    ]
    assert [each.system for each in supplied_definitions.system(block, "f")] == ["You are a coding agent."]


# What is supplied


def table(agent=None, version=None):
    name = f"{agent} {version}"
    return Table(agent, version, [tool(name)], name)


TABLES = (table(), table("codex"), table("codex", "1"), table("atif", "2"))


def log(*messages, source="codex", version=None, tools=()):
    return replace(talk(*messages, tools=list(tools)), source=source, version=version)


@cases(
    "source, version, expected",
    ("codex", "1", "codex 1"),
    ("codex", "2", "codex None"),
    ("codex", None, "codex None"),
    ("atif", "2", "atif 2"),
    ("atif", "1", "None None"),
    ("openai_chat", "1", "None None"),
    (None, None, "None None"),
)
def test_the_table_is_that_of_the_version_else_of_the_agent_else_that_for_all(source, version, expected):
    conversation, found = staged(supply(log(user(), source=source, version=version), Supplied(TABLES, TABLES)))
    assert conversation.tools == [tool(expected)]
    assert conversation.messages == [{"role": "system", "content": expected}, user()]
    assert facts(found) == [("supplied-tools", "info"), ("supplied-system", "info")]


def test_where_no_table_fits_nothing_is_supplied():
    given = log(user(), source="codex", version="3")
    assert staged(supply(given, Supplied((table("codex", "1"),), (table("atif"),)))) == (given, [])


def test_what_a_log_has_it_keeps():
    given = log(assistant(), {"role": "system", "content": "late"}, tools=[GREP])
    assert staged(supply(given, Supplied(TABLES, TABLES))) == (given, [])


# What is written


@given(st.lists(st.dictionaries(st.text(), VALUES, min_size=1), max_size=3), st.none() | st.text(min_size=1))
def test_what_is_written_is_read_back_and_holds_nothing_that_does_not_print(definitions, prompt):
    try:
        text = as_toml("codex", definitions, prompt)
    except UnicodeEncodeError:
        return
    assert all(char.isprintable() or char in "\n\t" for char in text)
    (read,) = tomllib.loads(text)["for"]
    assert read.get("system") == prompt
    if definitions:
        (found,) = supplied_definitions.tools(text.encode(), "f")
        assert repr(found.tools) == repr([supplied_definitions.flatten(each) for each in definitions])


TEXTS = ['"""', '""""""', 'ends with "', 'ends with """', "'''", "\\", "\\n", "\\u0041", "\r\n", "\x00\x1b\x7f\x85\u202e", "\ttab", "\n\nfirst", "a\\\n  b", "😀"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_texts_that_quote_and_escape_are_read_back(text):
    written = as_toml(None, [{"name": text, "description": [text]}], text).encode()
    assert supplied_definitions.tools(written, "f")[0].tools == [{"name": text, "description": [text]}]
    assert supplied_definitions.system(written, "f")[0].system == text
