"""Texts of exceptions and names of members are those of a log: escaped on the terminal and in reports, and redacted."""

import json
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pytest

from chatsquash.core.text import error_text
from tests.conftest import log_line, write_log

EVIL = "x\x1b[2J\x1b]0;owned\x07\u202e\x00\nERROR\tsession=other\t[forged] no check wrote this\r" + "y" * 9000
TEMPLATES = {
    "raises": "{{ raise_exception('no template for ' + messages[0].content) }}",
    "key": "{{ {}[messages[0].content].x }}",
    "filter": "{{ messages[0].content | int(base=1) + messages[0].content }}",
    "attribute": "{{ (messages[0].content | list)[messages[0].content].a.b }}",
    "format": "{{ '%d' | format(messages[0].content) }}",
    "range": "{{ range(messages[0].content) }}",
}


def assert_escaped(*texts):
    for text in texts:
        assert all(char.isprintable() or char in "\n\t" for char in text)
        assert not any(line.startswith("ERROR\tsession=other") for line in text.split("\n"))


def written():
    """The texts of all files that the run made beside the records."""
    paths = [
        path
        for path in Path("out").rglob("*")
        if path.is_file() and ("reports" in path.parts or path.suffix in (".html", ".md"))
    ]
    assert paths
    return [path.read_text(encoding="utf-8", errors="surrogateescape") for path in paths]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_what_a_template_raises_is_escaped_and_short(here, command, template):
    write_log(here / "logs/a.jsonl", log_line(EVIL))
    (here / "t.jinja").write_text(template)
    options = "--template", "t.jinja", "--samples", "auto", "--preset", "hf", "--format", "jsonl"
    done = command("convert", "logs", *options)
    assert done.code in (0, 3)
    assert_escaped(done.out, done.err, *written())
    findings = [json.loads(row) for row in (here / "out/reports/findings.jsonl").read_text().splitlines()]
    assert max(len(each["text"]) for each in findings) < 3000
    assert command("convert", "logs", "--output", "plain").code == 0
    (record,) = (here / "plain").glob("*.jsonl")
    done = command("check", record, "--template", "t.jinja")
    assert_escaped(done.out, done.err)


def _damaged_database(path):
    with sqlite3.connect(path) as database:
        database.execute('CREATE TABLE "x" (a)')
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = ?, name = ?", ("CREATE TABLE " + EVIL[:60], EVIL[:60]))


def _zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(EVIL[:100].replace("\x00", "") + "/../a.jsonl", "{}")
        archive.writestr(EVIL[:90].replace("\x00", "") + ".jsonl", "{")


def _tar(path):
    with tarfile.open(path, "w") as archive:
        for name in (EVIL[:90].replace("\x00", "") + ".jsonl", "/" + EVIL[:40].replace("\x00", "")):
            member = tarfile.TarInfo(name)
            member.linkname, member.type = "a" + EVIL[:30].replace("\x00", ""), tarfile.SYMTYPE
            archive.addfile(member)


@pytest.mark.parametrize("make, name", [(_damaged_database, "a.db"), (_zip, "a.zip"), (_tar, "a.tar")])
def test_what_databases_and_archives_say_is_escaped(here, command, make, name):
    write_log(here / "logs/good.jsonl")
    make(here / "logs" / name)
    done = command("convert", "logs", f"logs/{name}")
    assert done.code in (0, 3)
    assert_escaped(done.out, done.err, *written())
    done = command("inspect", f"logs/{name}")
    assert_escaped(done.out, done.err)


PRIVATE = {"93.184.216.34": 1, "/home/anamaria/app": 1, "+49 30 23125042": 1, "john.doe@kettle-drum.de": 1}
SESSION = "5d0c7e52-93b4-4b6e-8f0a-2a4f7a1c9e31"


def _claude(text, **members):
    base = {"sessionId": SESSION, "cwd": "/w", "version": "2.0.0", "isSidechain": False, "userType": "external"}
    base |= {"timestamp": "2026-01-16T10:00:00Z", **members}
    reply = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "usage": {}}
    return [
        {**base, "type": "user", "uuid": "a1", "parentUuid": None, "message": {"role": "user", "content": text, **members}},
        {**base, "type": "assistant", "uuid": "a2", "parentUuid": "a1",
         "message": {**reply, "content": [{"type": "text", "text": "Hello"}]}},
    ]  # fmt: skip


def _codex(text, **members):
    meta = {"id": SESSION, "timestamp": "2026-01-16T10:00:00Z", "cwd": "/w", "originator": "codex", **members}
    said = [("user", "input_text", text), ("assistant", "output_text", "Hello")]
    items = [{"type": "message", "role": role, "content": [{"type": kind, "text": each}]} for role, kind, each in said]
    rows = [("session_meta", meta), *(("response_item", {**each, **members}) for each in items)]
    rows += [("event_msg", {"type": name, "x": 1}) for name in members]
    return [{"timestamp": "2026-01-16T10:00:00Z", "type": kind, "payload": payload} for kind, payload in rows]


TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8J9k0" + "L1m2N3p4Q5r6S7t8"
HIDDEN = "--redact", "secrets,emails"


@pytest.mark.parametrize("private", [TOKEN, "john.doe@kettle-drum.de"])
def test_names_of_members_and_logs_are_redacted_where_a_run_stops_and_in_reports(here, command, private):
    """In the path, in the name of the session, which is made of it, and in what a run says that stops."""
    with zipfile.ZipFile(here / "a.zip", "w") as archive:
        archive.writestr(f"/{private}.jsonl", "{}")
    for logs in (["a.zip"], ["a.zip", "logs", "--strict"]):
        write_log(here / "logs" / f"{private}.jsonl", b"{")
        done = command("convert", *logs, *HIDDEN)
        assert done.code in (1, 2), logs
        assert private not in done.out + done.err
    write_log(here / "logs/good.jsonl")
    assert command("convert", "a.zip", "logs", *HIDDEN).code == 3
    texts = written()
    assert sum("archive-member" in text for text in texts) > 1
    assert not any(private.removesuffix(".de") in text for text in texts)


@pytest.mark.parametrize("rows", [_claude, _codex])
def test_names_of_members_are_redacted_in_findings(here, command, rows):
    write_log(here / "logs/a.jsonl", *rows("Hi", **PRIVATE))
    done = command("convert", "logs", "--redact", "secrets,emails,phones,ips,paths")
    assert done.code in (0, 3)
    assert "not-read" in (here / "out/reports/integrity-report.txt").read_text()
    texts = [path.read_bytes() for path in (here / "out").rglob("*") if path.is_file()]
    for private in (b"93.184.216.34", b"anamaria", b"23125042", b"john.doe"):
        assert not any(private in text for text in texts), private


@pytest.mark.parametrize("text", ["\x1b[31m\u202e" + "x" * 1000 + "\nnext", "\n\n", ""])
def test_what_a_library_says_is_one_short_line(text):
    said = error_text(ValueError(text))
    assert said.isprintable()
    assert 0 < len(said) < 250
    assert "next" not in said
