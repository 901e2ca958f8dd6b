"""The decoder of agent traces for ``datasets``: a row per conversation, equal to the records of ``convert``."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from chatsquash import Options, read
from chatsquash.formats import documents
from chatsquash.integrations import datasets as traces
from tests.conftest import cases

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
SAME = Options(preset="hf", conversations="all", media="text", anonymize=False, duplicates="keep", cleanup_goose=False)


def decode(path, **settings):
    return traces.convert_traces_to_training_data(path, **settings)


def kinds(rows):
    """Of each row its kind and the first letters of its roles."""
    return [(row["metadata"]["kind"], "".join(message["role"][0] for message in row["messages"])) for row in rows]


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def claude(role, text, session="s", **more):
    return {"type": role, "sessionId": session, "message": {"role": role, "content": text}, **more}


def record(row):
    return {"messages": row["messages"], **({"tools": row["tools"]} if row["tools"] else {})}


def spelled(values):
    return sorted(json.dumps(value, sort_keys=True) for value in values)


@pytest.mark.parametrize("name", sorted(set(documents.names()) & {path.name for path in GOLDEN.iterdir()}))
def test_rows_are_the_records_of_convert(name):
    """For each file of each agent, also in databases and archives; conversations without a record have a reason."""
    files = [path for path in sorted(GOLDEN.glob(f"{name}/*/logs/**/*")) if path.is_file()]
    compared = 0
    for path in files:
        rows = decode(path, skip_invalid_lines=True)
        if not rows or rows[0]["metadata"]["trace_type"] == "unknown":
            continue
        compared += 1
        records = [record for session in read(path, SAME) for record in session.records]
        assert spelled(records) == spelled(record(row) for row in rows if "refused" not in row["metadata"]), path
    assert compared


@cases(
    "case, expected",
    ("a compaction", "claude_code/a_compaction_and_what_went_before", [("compacted", "uuata"), ("main", "uata")]),
    ("an edited prompt", "claude_code/an_answered_prompt_that_was_edited", [("main", "uaua"), ("branch", "uaua")]),
    ("a sub-agent", "claude_code/a_sub_agent_and_the_call_that_began_it", [("main", "uata"), ("subagent", "uata")]),
    ("Codex's compaction", "codex/a_compaction_and_what_it_replaced", [("compacted", "suuua"), ("main", "suua")]),
    ("Pi's branch", "pi/a_branch_that_was_left", [("main", "uua"), ("branch", "ua")]),
    ("Droid's compaction", "droid/a_compaction_and_what_it_replaced", [("compacted", "uua"), ("main", "ua")]),
)
def test_conversations_of_a_file_are_separate_rows(case, expected):
    rows = decode(next((GOLDEN / case / "logs").glob("*.jsonl")))
    assert kinds(rows) == expected
    names = {row["metadata"]["conversation"] for row in rows}
    assert len(names) == len(rows)
    parents = [row["metadata"]["parent"] for row in rows if row["metadata"]["kind"] != "main"]
    assert parents
    assert names.issuperset(parents)


def test_a_row_has_the_columns_that_datasets_reads(tmp_path):
    """``datasets`` 5.2.0 reads these members of rows and of their metadata."""
    path = write(tmp_path / "s.jsonl", claude("user", "Hi"), claude("assistant", [{"type": "text", "text": "Hello"}]))
    (row,) = decode(str(path))
    assert row["prompt"] == "Hi"
    assert row["tools"] == []
    assert row["messages"] == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    assert {"trace_type": "claude-code", "session_id": "s", "turn_count": 1, "tool_call_count": 0}.items() <= row[
        "metadata"
    ].items()


@cases(
    "lines, messages, refused",
    ("a prompt without a reply", [claude("user", "Hi")], [{"role": "user", "content": "Hi"}], "no-assistant-turn"),
    (
        "a call without a name",
        [claude("user", "Hi"), claude("assistant", [{"type": "tool_use", "id": "c", "input": {"a": 1}}])],
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"arguments": {"a": 1}}}]},
        ],
        "unsupported-shape",
    ),
    ("a number that loaders reject", [claude("user", "Hi"), claude("assistant", [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 2**70}}])], [], "integer-too-large"),
    ("a line of another kind", [{"a": 1}], [], "unknown-format"),
)  # fmt: skip
def test_a_file_without_records_has_a_row_with_the_reason(tmp_path, lines, messages, refused):
    (row,) = decode(write(tmp_path / "s.jsonl", *lines))
    assert row["messages"] == messages
    assert row["metadata"]["refused"] == refused


@cases(
    "lines, trace_type",
    ("Pi without cwd", [{"type": "session", "id": "p"}, {"type": "message", "message": {"role": "user", "content": "Hi"}}], "pi"),
    ("unknown types first", [{"type": "x"}, {"type": "session", "id": "p"}, {"type": "message", "message": {"role": "user", "content": "Hi"}}], "pi"),
)  # fmt: skip
def test_incomplete_headers_are_detected_like_in_datasets(tmp_path, lines, trace_type):
    (row,) = decode(write(tmp_path / "s.jsonl", *lines))
    assert (row["metadata"]["trace_type"], row["prompt"]) == (trace_type, "Hi")


def hermes(name, *messages):
    return {"id": name, "source": "cli", "started_at": 1.5, "message_count": 2, "messages": list(messages)}


def test_the_nth_row_of_hermes_is_the_nth_line(tmp_path):
    """``datasets`` 5.2.0 reads the time of a row of Hermes from the line with the row's number, also of copies."""
    turn = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    path = write(tmp_path / "s.jsonl", hermes("b", *turn), hermes("a", *turn), hermes("b", *turn))
    rows = decode(path)
    assert [row["metadata"]["session_id"] for row in rows] == ["b", "a", "b"]
    assert [row["metadata"]["line"] for row in rows] == [1, 2, 3]


def test_other_conversations_of_a_line_of_hermes_follow_under_another_name():
    rows = decode(GOLDEN / "hermes/an_export_of_a_chain/logs/sessions.jsonl")
    assert [row["metadata"]["trace_type"] for row in rows] == ["hermes", "hermes-main"]
    assert [row["metadata"]["line"] for row in rows] == [1, 1]


def test_a_line_that_is_not_json(tmp_path):
    path = write(tmp_path / "s.jsonl", claude("user", "Hi"), claude("assistant", [{"type": "text", "text": "Hello"}]))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type": "user", "mess\n')
    with pytest.raises(ValueError, match=r"s\.jsonl:3: .*skip_invalid_lines"):
        decode(path)
    assert len(decode(path, skip_invalid_lines=True)[0]["messages"]) == 2


def test_lines_that_are_nested_too_deeply_have_no_messages(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text("[" * 100_000)
    assert [row["messages"] for row in decode(path)] == [[]]


def test_the_files_of_a_folder_in_order(tmp_path):
    """Folders of incomplete and failed sessions are skipped, as by teich 0.3.6; empty files have no rows."""
    for name in ("b/2.jsonl", "a.jsonl", "failures/x.jsonl", "partials/y.jsonl", "notes.txt"):
        write(tmp_path / name, claude("user", name), claude("assistant", [{"type": "text", "text": "Hello"}]))
    write(tmp_path / "empty.jsonl")
    assert [row["prompt"] for row in decode(tmp_path)] == ["a.jsonl", "b/2.jsonl"]


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        decode(tmp_path / "none.jsonl")


@pytest.fixture
def library(monkeypatch):
    """In place of ``datasets``, what ``install`` sets of it."""
    package, config = ModuleType("datasets"), ModuleType("datasets.config")
    config.TEICH_AVAILABLE, package.config = False, config
    monkeypatch.setitem(sys.modules, "datasets", package)
    monkeypatch.setitem(sys.modules, "datasets.config", config)
    yield config
    traces.uninstall()


def imported():
    from teich import convert_traces_to_training_data

    return convert_traces_to_training_data


def test_install_takes_the_place_of_a_missing_teich(library, monkeypatch):
    monkeypatch.delitem(sys.modules, "teich", raising=False)
    monkeypatch.setattr(sys, "path", [])
    traces.install()
    traces.install()
    assert library.TEICH_AVAILABLE
    assert imported() is traces.convert_traces_to_training_data
    traces.uninstall()
    traces.uninstall()
    assert not library.TEICH_AVAILABLE
    assert "teich" not in sys.modules


def test_install_replaces_one_function_of_teich(library, monkeypatch):
    theirs = SimpleNamespace(convert_traces_to_training_data=len, load_traces=max)
    monkeypatch.setitem(sys.modules, "teich", theirs)
    library.TEICH_AVAILABLE = True
    traces.install()
    assert imported() is traces.convert_traces_to_training_data
    assert theirs.load_traces is max
    traces.uninstall()
    assert imported() is len
    assert library.TEICH_AVAILABLE


def test_install_without_datasets(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setitem(sys.modules, "datasets.config", None)
    with pytest.raises(ImportError):
        traces.install()
    assert "teich" not in sys.modules
