"""Which files hold a document, of which format it is, and what is in it."""

import io
import json
import os
import stat
from pathlib import Path

import pytest

from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.formats import documents as formats
from chatsquash.formats.base import TurnError
from chatsquash.reading import contents, evidence, identify
from chatsquash.reading.sessions import document_parts, split
from chatsquash.sources.find import discover
from chatsquash.sources.open import open_file
from tests.conftest import cases, log_line
from tests.samples.table import agents

SAMPLES = sorted((Path(__file__).parents[2] / "sample_logs" / "documents").iterdir())
CALLED = {"role": "assistant", "content": None, "toolCalls": [{"id": "a", "name": "ls", "arguments": {}}]}
PORTABLE = [{"role": "user", "content": "hi"}, CALLED]
PLAIN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
CLAUDE = {
    "type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "hi"},
}  # fmt: skip
EDIT = {"$set": {"summary": "x"}}
"""A line of Gemini CLI's."""


def data(*values) -> bytes:
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in values)


def look(*values, forced=None):
    return identify.document_content(io.BytesIO(data(*values)), forced)


def count(path):
    with open_file(path) as file:
        return len(document_parts(Log(str(path), str(path), str(path), 0), file, Options()))


def put(path, *values):
    path.write_bytes(data(*values))
    return str(path)


# Look


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_is_told(path):
    with path.open("rb") as file:
        held = identify.document_content(file)
        assert file.tell() == 0, "the file stands where it stood"
    assert held.format == path.stem.partition("-")[0]
    assert held.why.startswith(f"{held.format} (")
    assert held.rejected_lines == []
    assert all(each.messages for each in held.conversations())


def test_there_is_a_sample_of_every_format():
    assert {path.stem.partition("-")[0] for path in SAMPLES} | {name for name, _ in agents()} == set(formats.names())


@cases(
    "values",
    ("nothing", [b""]),
    ("white space", [b" \n\n"]),
    ("a configuration", [{"name": "x", "version": 1, "scripts": {"test": "true"}}]),
    ("a list of numbers", [[1, 2, 3]]),
    ("an empty list", [[]]),
    ("a schema with messages", [{"messages": {"type": "array"}}]),
    ("a file that is no JSON", [b"\x00\xff\xfe{"]),
    ("a file that is nested too deeply", [b"[" * 5000]),
    ("a log, by its first line", [log_line("hi")]),
    ("a log with documents behind its first line", [log_line("hi"), PORTABLE, PORTABLE]),
    ("a row of a dataset, in a file of lines", [{"messages": PLAIN}]),
    ("several rows of one", [{"messages": PLAIN}, {"messages": PLAIN}]),
    ("a body without turns", [b'{\n"messages": []}']),
    ("an empty list on lines", [b"[\n]"]),
)
def test_no_document(values):
    assert look(*values) is None


def test_a_file_stands_where_it_stood():
    file = io.BytesIO(data(PORTABLE))
    file.seek(7)
    assert identify.document_content(file).format == "portable"
    assert file.tell() == 7


def test_a_file_that_was_opened_unbuffered_is_read_whole(tmp_path):
    turn = {"role": "user", "content": "x" * 1000}
    path = put(tmp_path / "a.json", [*PORTABLE, *[turn] * 300])
    with open(path, "rb", buffering=0) as file:
        assert len(identify.document_content(file).conversations()[0].messages) == 302


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_one_value_may_stand_on_many_lines_and_behind_a_byte_order_mark(indent, mark):
    assert look(mark + json.dumps(PORTABLE, indent=indent).encode()).format == "portable"
    assert len(look(mark + data(PORTABLE, PORTABLE)).conversations()) == 2


def test_two_formats_at_once_are_an_error_that_names_both():
    with pytest.raises(TurnError, match=r"^more than one format matches: claude_code \(.*\) and gemini_cli \(.*\)$"):
        look(CLAUDE, CLAUDE, CLAUDE, EDIT)


def test_what_the_user_says_is_not_doubted():
    held = look(CLAUDE, CLAUDE, CLAUDE, EDIT, forced="claude_code")
    assert (held.format, held.why) == ("claude_code", "claude_code, set by --from")
    assert look(PLAIN, forced="portable").conversations()[0].messages == PLAIN
    assert look({"messages": PLAIN}, forced="openai_chat").conversations()[0].messages == PLAIN
    assert look(log_line("hi"), forced="openai_chat") is None, "a log is no document"


def test_lines_that_are_no_json_are_told_with_their_places():
    held = look(CLAUDE, b"{oops\n", b"\n", CLAUDE, b'{"cut')
    size = len(data(CLAUDE))
    assert [(each.line, each.offset, each.length) for each in held.rejected_lines] == [
        (2, size, 5),
        (5, 2 * size + 7, 5),
    ]
    assert {each.code for each in held.rejected_lines} == {"bad-line"}
    assert all(each.reason.startswith("not JSON: ") for each in held.rejected_lines)
    assert len(held.objects) == 2


def test_a_line_that_is_nested_too_deeply_is_told():
    (broken,) = look(CLAUDE, b"[" * 5000 + b"]" * 5000 + b"\n", CLAUDE).rejected_lines
    assert (broken.line, broken.reason) == (2, "nested too deeply")


def test_a_document_that_is_too_large_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(contents, "LONGEST", 1000)
    small, large = put(tmp_path / "a.json", PORTABLE), put(tmp_path / "b.json", [*PORTABLE, *PLAIN * 100])
    assert identify.is_readable(small)
    assert not identify.is_readable(large)
    assert count(large) == 0
    with open(large, "rb") as file, pytest.raises(TurnError, match="file is larger than 1,000 bytes"):
        identify.document_content(file, "portable")


@pytest.fixture
def bytes_read(monkeypatch):
    """Counts the bytes that are read of logs, however they are read."""
    counts = [0]

    class Counted(io.FileIO):
        def read(self, size=-1):
            found = super().read(size)
            counts[0] += len(found)
            return found

        def readinto(self, buffer):
            count = super().readinto(buffer)
            counts[0] += count
            return count

    monkeypatch.setattr(io, "FileIO", Counted)
    return counts


HUGE = [
    ("a list of numbers", lambda: b"[" + b"1," * (3 << 20), False),
    ("one value that does not end", lambda: b'{"a": "' + b"x" * (6 << 20), False),
    ("a body that does not end", lambda: b'{"messages": [{"role": "user", "content": "' + b"x" * (6 << 20), True),
    ("an exchange that does not end", lambda: b'{"request": {"messages": [{"role": "user", "content": "' + b"x" * (6 << 20), True),
    ("lines of a document", lambda: data(CLAUDE) * 50_000, True),
    ("lines of a log", lambda: data(log_line("hi", pad="x" * 200)) * 15_000, True),
    ("lines of a dataset", lambda: data({"text": "x" * 200}) * 30_000, False),
]  # fmt: skip


@pytest.mark.parametrize("sentence, content, expected", HUGE, ids=[row[0] for row in HUGE])
@pytest.mark.parametrize("beyond", [False, True], ids=["", "beyond what is read"])
def test_what_a_file_is_is_told_by_its_first_4_mb(tmp_path, bytes_read, sentence, content, expected, beyond):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.write(content())
        if beyond:
            file.truncate(contents.LONGEST + 1)
    is_log = "log" in sentence or "exchange" in sentence
    assert identify.is_readable(str(path)) is (expected and (is_log or not beyond)), sentence
    assert 0 < bytes_read[0] <= (4 << 20) + 1
    bytes_read[0] = 0
    assert len(discover([str(tmp_path)], Options(), identify.is_readable).logs) == (expected and (is_log or not beyond))
    assert 0 < bytes_read[0] <= (4 << 20) + 1, "once"


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "golden").glob("opencode/*/logs/*.json")), ids=str)
def test_a_document_is_recognised_by_its_first_bytes_or_else_by_its_first_4_mb(tmp_path, monkeypatch, path):
    content = path.read_bytes()
    assert identify.is_readable(put(tmp_path / "a.json", content))
    monkeypatch.setattr(identify, "_FIRST", 300)
    assert identify.is_readable(put(tmp_path / "b.json", content))
    monkeypatch.setattr(identify, "_begins_as_document", lambda start: False)
    assert identify.is_readable(put(tmp_path / "c.json", content))


def test_a_huge_file_is_not_read_to_find_that_it_is_too_large(tmp_path, bytes_read):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.write(b"[\n")
        file.truncate(contents.LONGEST + 1)
    with open_file(path) as file:
        assert identify.document_content(file) is None
    assert bytes_read[0] <= 1 << 16
    assert count(path) == 0
    assert bytes_read[0] <= 1 << 17


def test_the_first_line_of_a_log_is_read_once_however_long_it_is(tmp_path, bytes_read):
    path = tmp_path / "a.jsonl"
    path.write_bytes(data(log_line("x" * 20_000_000), log_line("y")))
    with open_file(path) as file:
        assert evidence.detect_shape(file)[1].format == "openai_chat"
    assert bytes_read[0] <= 20_000_000 + (5 << 20)


# Whether a file in a folder is one


@cases(
    "values, expected, held",
    ("a document", [PORTABLE], True, 1),
    ("several conversations", [PORTABLE, PORTABLE], True, 2),
    ("a list of messages", [PLAIN], True, 1),
    ("a request's body on several lines", [json.dumps({"messages": PLAIN}, indent=2).encode()], True, 1),
    ("an exchange on a line, which is a log", [log_line("hi")], True, 0),
    ("an exchange on several lines, which is one, too", [json.dumps(log_line("hi"), indent=2).encode()], True, 0),
    ("no messages", [{"messages": []}], False, 0),
    ("more than one format matches, which is to be said", [CLAUDE, CLAUDE, CLAUDE, EDIT], True, 0),
    ("a broken document, which is to be said", [{"schema_version": "ATIF-v1.6", "steps": 3}], True, 0),
    ("a configuration", [{"compilerOptions": {"strict": True}}], False, 0),
    ("no JSON", [b"// comment\n{}"], False, 0),
    ("empty", [b""], False, 0),
)
def test_is_document(tmp_path, values, expected, held):
    path = put(tmp_path / "a.json", *values)
    assert identify.is_readable(path) is expected
    assert count(path) == held


def test_what_cannot_be_opened_is_no_document(tmp_path):
    (tmp_path / "link.json").symlink_to("nowhere")
    (tmp_path / "folder.json").mkdir()
    for name in ("link.json", "folder.json", "nothing.json"):
        assert not identify.is_readable(str(tmp_path / name))
    for log in (Log(str(tmp_path / name), name, name, 0) for name in ("folder.json", "nothing.json")):
        assert split(log) == [log]


def test_a_pipe_is_never_opened(tmp_path):
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert not identify.is_readable(str(path))


def test_a_folder_gives_json_files_that_are_known_and_counts_the_others(tmp_path):
    put(tmp_path / "a.json", PORTABLE)
    put(tmp_path / "B.JSON", PORTABLE)
    put(tmp_path / "c.json", {"x": 1})
    put(tmp_path / "d.json", b"")
    put(tmp_path / "e.json5", PORTABLE)
    found = discover([str(tmp_path)], Options(), identify.is_readable)
    assert [job.name for job in found.logs] == ["B.JSON", "a.json"]
    assert found.others == {".json": 2, ".json5": 1}


def test_options_choose_among_documents_as_among_logs(tmp_path):
    put(tmp_path / "a.json", PORTABLE)
    put(tmp_path / "b.json", PORTABLE)
    put(tmp_path / "c.json", {"x": 1})
    found = discover([str(tmp_path)], Options(exclude=("b*", "c*")), identify.is_readable)
    assert [job.name for job in found.logs] == ["a.json"]
    assert (found.passed_over, found.others) == (1, {".json": 1})


def test_a_file_that_is_named_is_read_whatever_it_is(tmp_path):
    path = put(tmp_path / "c.json", {"x": 1})
    found = discover([path], Options(), identify.is_readable)
    assert [job.path for job in found.logs] == [path]


# Sessions


def test_each_conversation_is_a_session(tmp_path):
    path = put(tmp_path / "a.jsonl", PORTABLE, PORTABLE, PORTABLE)
    assert [job.part for job in split(Log(path, path, "a.jsonl", 1))] == [0, 1, 2]


def test_a_document_that_only_the_user_knows_is_split_as_such(tmp_path):
    path = put(tmp_path / "a.jsonl", PLAIN, PLAIN)
    assert [job.part for job in split(Log(path, path, "a.jsonl", 1), Options(from_format="portable"))] == [0, 1]
