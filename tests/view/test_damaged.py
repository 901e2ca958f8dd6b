"""Reports that are not as chatsquash wrote them: pages say so in words, and none is an error of the server."""

import json
from contextlib import nullcontext, suppress

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from tests.conftest import assistant, log_line, user, write_log
from tests.view import markup
from tests.view.conftest import Reader

RUN, SESSIONS, FINDINGS = "run.json", "reports/sessions.jsonl", "reports/findings.jsonl"
OF_SESSION = ("", "/log", "/tree", "/log/1", "/log/1/difference", "/log/1/raw", "/find?q=a", "/copy.md", "/copy.json")
CALL = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A result with findings, which tests damage and mend."""
    folder = tmp_path_factory.mktemp("damaged")
    answered = {"role": "tool", "tool_call_id": "other", "content": "r"}
    write_log(
        folder / "logs/a.jsonl", log_line(user("q"), assistant(None, tool_calls=[CALL]), answered, session_id="a")
    )
    write_log(folder / "logs/b.jsonl", log_line(user("word"), session_id="b"))
    convert(folder / "logs", folder / "out", Options(anonymize=False))
    return folder / "out"


@pytest.fixture
def out(written):
    before = {name: (written / name).read_bytes() for name in (RUN, SESSIONS, FINDINGS)}
    yield written
    for name, data in before.items():
        (written / name).unlink(missing_ok=True)
        (written / name).write_bytes(data)


def looked_at(out, pages=OF_SESSION, sessions=(0, 1)):
    """The answers of all pages; the client raises what the server does not catch."""
    reader = Reader(out)
    tag = reader.viewer.tag
    search = f"/r/{tag}/search/stream?q=word"
    answers = [
        reader.get(path) for path in ("/", search, *(f"/r/{tag}/s/{at}{path}" for at in sessions for path in pages))
    ]
    for answer in answers:
        assert answer.status_code in (200, 404, 409)
        if answer.headers["content-type"].startswith("text/html"):
            markup.hold(answer.text)
    return answers


def with_member(out, name, members, value):
    """The file with another value of a member of its first object."""
    first, *rest = (out / name).read_bytes().splitlines() if name != RUN else [(out / name).read_bytes()]
    told = json.loads(first)
    held = told
    for member in members[:-1]:
        held = held[member]
    held[members[-1]] = value
    (out / name).write_bytes(b"".join(line + b"\n" for line in (json.dumps(told).encode(), *rest)))


WRONG = [None, "../x", "\0", -1, 10**30, True, [1], {"a": "b"}]
MEMBERS = [
    *((SESSIONS, (name,)) for name in ("file", "row", "offset", "log", "line", "session", "conversation", "record", "sample")),
    *((SESSIONS, (name,)) for name in ("format", "model", "start", "turns", "left_out", "findings", "replies", "usage")),
    (SESSIONS, ("replies", "lost")),
    *((FINDINGS, (name,)) for name in ("code", "severity", "text", "message", "line", "record", "session", "file")),
    *((RUN, ("options", name)) for name in ("cleanup", "cleanup_goose", "preset", "max_line", "from_format", "restore")),
    *((RUN, (name,)) for name in ("inputs", "options", "outputs", "counts")),
    *((RUN, ("counts", name)) for name in ("sessions", "lines", "replies", "pairs", "findings", "other_files")),
    *((RUN, ("counts", *names)) for names in (("sessions", "left_out"), ("lines", "unreadable"), ("replies", "lost"))),
    *((RUN, (name, 0)) for name in ("inputs", "outputs")),
    *((RUN, (name, 0, "path")) for name in ("inputs", "outputs")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "members"), MEMBERS, ids=map(str, MEMBERS))
def test_a_value_of_another_type_is_no_error_of_the_server(out, name, members):
    data = (out / name).read_bytes()
    for value in WRONG:
        (out / name).write_bytes(data)
        with_member(out, name, members, value)
        with suppress(UsageError) if name == RUN else nullcontext():  # which ends the command
            looked_at(out, ("", "/log"), sessions=[0])


LINES = {
    "a blank line between": lambda lines: [lines[0], b"", *lines[1:]],
    "a blank line before": lambda lines: [b"", *lines],
    "no object": lambda lines: [b"[]", *lines],
    "two on a line": lambda lines: [lines[0] + b" " + lines[1], *lines[2:]],
    "cut": lambda lines: [lines[0][:50]],
    "no UTF-8": lambda lines: [b"\xff", *lines],
}


@pytest.mark.parametrize("name", [SESSIONS, FINDINGS])
@pytest.mark.parametrize("damage", LINES.values(), ids=LINES)
def test_lines_that_do_not_belong_together_are_said(out, name, damage):
    lines = (out / name).read_bytes().splitlines()
    (out / name).write_bytes(b"\n".join(damage(lines)) + b"\n")
    answer = looked_at(out)[0]
    assert answer.status_code == 404
    assert f"{name}: file was not written by this version of chatsquash" in markup.said(answer.text)


@pytest.mark.parametrize("name", [SESSIONS, FINDINGS])
def test_a_link_or_a_folder_in_the_place_of_a_report_is_said(out, name, tmp_path):
    (tmp_path / "secret").write_text('{"session": "secret"}\n')
    (out / name).unlink()
    (out / name).symlink_to(tmp_path / "secret")
    first = looked_at(out)[0]
    assert first.status_code == 404
    assert f"{name}: cannot be read (symbolic links are not followed)" in markup.said(first.text)
    (out / name).unlink()
    (out / name).mkdir()
    try:
        assert "is a folder" in looked_at(out)[0].text
    finally:
        (out / name).rmdir()


def test_a_line_of_the_session_table_with_many_members_makes_no_large_page(out):
    for value in ({f"m{at}": at for at in range(100_000)}, "x" * 1_000_000):
        for members in (("more",), ("replies",)):
            with_member(out, SESSIONS, members, value)
            assert len(looked_at(out, ("",))[2].content) < 200_000


@pytest.mark.parametrize("name", ["file", "log", "session", "kind", "start", "left_out", "format", "model", "end"])
def test_a_name_of_any_length_makes_no_large_page(out, name):
    with_member(out, SESSIONS, (name,), "&" * 1_000_000)
    assert all(len(answer.content) < 200_000 for answer in looked_at(out, ("", "/log", "/tree")))
