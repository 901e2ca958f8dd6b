"""``chatsquash translate --redact``: conversations of any format, with placeholders in the place of what is private."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from chatsquash.core.options import Options
from chatsquash.redaction import requests
from chatsquash.redaction.redactor import Redactor
from chatsquash.translate import work
from chatsquash.translate.files import Translation
from chatsquash.translate.sources import Sources
from tests.conftest import cases, tree

TOKEN = "ghp_Zq7Vn2Lk9Xw4Rt8Bm3Hc6Yd1Pf5Js0GuAe7T"
MAIL = "jane.doe@corp.com"
PLACE = re.compile(r"<GITHUB_TOKEN_[0-9a-f]{10}>")
AS_THEY_ARE = "\n\ne-mail addresses are unchanged; add --anonymize to replace them"
pytestmark = pytest.mark.usefixtures("here")


def put(name, *values):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("".join(json.dumps(value) + "\n" for value in values))
    return name


def body(arguments, **reply):
    call = {"id": "call_1", "type": "function", "function": {"name": "sh", "arguments": json.dumps(arguments)}}
    return {
        "messages": [
            {"role": "user", "content": f"use {TOKEN}"},
            {"role": "assistant", "content": None, "tool_calls": [call], **reply},
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
            {"role": "assistant", "content": "k"},
        ]
    }


@cases("to", "anthropic", "gemini", "openai_chat", "openai_responses", "vercel_ai", "ollama")
def test_texts_and_arguments_have_placeholders(command, to):
    put("a.json", body({"cmd": TOKEN, "n": 1.5, "deep": [{"x": TOKEN}]}))
    plain = command("translate", "a.json", "--to", to, "-o", "plain.jsonl")
    ended = command("translate", "a.json", "--to", to, "-o", "out.jsonl", "--redact", "secrets")
    assert (plain.code, ended.code) == (0, 0)
    assert ended.err.splitlines()[0] == f"1 conversation written as {to}"
    assert "replaced  3  github token" in ended.err.splitlines()
    before, after = (Path(name).read_text() for name in ("plain.jsonl", "out.jsonl"))
    assert len(set(PLACE.findall(after))) == 1
    assert PLACE.sub(TOKEN, after) == before, "nothing else changes, and JSON in it stays JSON"
    assert TOKEN not in after


def test_what_a_service_has_signed_and_media_and_ids_of_calls_stay(command):
    said = [
        {
            "role": "user",
            "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": TOKEN}}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": f"hm {TOKEN}", "signature": TOKEN},
                {"type": "text", "text": "k"},
            ],
        },
    ]
    put("a.json", {"model": "claude-x", "messages": said})
    assert command("translate", "a.json", "--to", "anthropic", "-o", "out.jsonl", "--redact", "secrets").code == 0
    image, reply = (each["content"] for each in json.loads(Path("out.jsonl").read_text())["messages"])
    assert image[0]["source"]["data"] == TOKEN
    assert reply[0]["signature"] == TOKEN
    assert PLACE.fullmatch(reply[0]["thinking"].removeprefix("hm "))


def test_a_secret_that_is_found_once_is_replaced_in_all_of_its_conversation(command):
    secret = "kettle9drum"
    said = [
        {"role": "user", "content": f"export DB_PASSWORD={secret}"},
        {"role": "assistant", "content": f"so it is {secret}"},
    ]
    put("a.jsonl", {"messages": said}, {"messages": said[1:]})
    assert command("translate", "a.jsonl", "--to", "openai_chat", "-o", "out.jsonl", "--redact", "secrets").code == 0
    assert [secret in line for line in Path("out.jsonl").read_text().splitlines()] == [False, True]


ADDRESSES = [
    ("--redact emails", True), ("--redact secrets,emails", True), ("--anonymize", True),
    ("--anonymize --redact secrets", True), ("--redact secrets", False), ("--redact none", False), ("", False),
]  # fmt: skip


@pytest.mark.parametrize("given, are_replaced", ADDRESSES, ids=[row[0] or "nothing" for row in ADDRESSES])
def test_addresses_are_replaced_where_they_are_named(command, given, are_replaced):
    put("a.json", {"messages": [{"role": "user", "content": f"mail {MAIL}"}, {"role": "assistant", "content": "k"}]})
    ended = command("translate", "a.json", "--to", "openai_chat", "-o", "out.jsonl", *given.split())
    assert ended.err == f"1 conversation written as openai_chat{'' if are_replaced else AS_THEY_ARE}\n"
    assert (MAIL not in Path("out.jsonl").read_text()) == are_replaced


def test_nothing_private_is_in_any_byte_that_is_written_or_said(command):
    put(f"in/{TOKEN}/a {TOKEN}.json", body({"a": 1}))
    put(f"in/{TOKEN}/{MAIL}.jsonl", {"messages": [{"role": "user", "content": "x"}]}, {"messages": TOKEN}, "{")
    ended = command("translate", "in", "--to", "gemini", "-o", "out", "--redact", "secrets,emails")
    assert ended.code == 3
    names = sorted(tree(Path("out")))
    assert any(re.fullmatch(r"a__GITHUB_TOKEN_[0-9a-f]{10}_\.json", name) for name in names)
    told = [ended.out, ended.err, *names]
    assert not any(value in each for value in (TOKEN, MAIL) for each in told)
    assert "[bad-entry]" in ended.err


def test_the_name_of_a_file_goes_without_what_is_found_in_it(command):
    secret = "kettle9drum"
    put(f"in/{secret}.json", {"messages": [{"role": "user", "content": f"export DB_PASSWORD={secret}"}]})
    assert command("translate", "in", "--to", "gemini", "-o", "out", "--redact", "secrets").code == 0
    (name,) = tree(Path("out"))
    assert re.fullmatch(r"_SECRET_[0-9a-f]{10}_\.json", name)


def test_twice_changes_nothing(command):
    put("a.json", body({"cmd": f"{TOKEN} {MAIL}"}))
    for before, after in (("a.json", "b.jsonl"), ("b.jsonl", "c.jsonl")):
        assert command("translate", before, "--to", "openai_chat", "-o", after, "--redact", "secrets,emails").code == 0
    assert Path("b.jsonl").read_bytes() == Path("c.jsonl").read_bytes()


def test_processes_replace_as_one_does(command):
    lines = [body({"cmd": TOKEN, "n": number}) for number in range(600)]
    put("a.jsonl", *lines)
    private = Options(redact="secrets", anonymize=False, anonymize_key=b"a key for these tests")
    assert Translation("gemini", "-", private=private).redaction() == private
    made = []
    for workers in (1, 2):
        pieces = Sources().pieces(["a.jsonl"], None)
        done = work.translate_all(pieces, work.Task("gemini", private=private), workers)
        made.append([document for each in done for document in each.documents])
    assert made[0] == made[1]
    assert len(made[0]) == 600


def deadly_each_time(wanted):
    """Translates the first piece; the others end the process."""
    translate = work.Translator(wanted)

    def attempt(piece):
        if piece.lines[0].number > 1:
            Path("struck").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return translate(piece)

    return lambda pieces: list(map(attempt, pieces))


def deadly_once(wanted):
    """The same, but only the first of them."""
    translate, deadly = work.Translator(wanted), deadly_each_time(wanted)
    return lambda pieces: list(map(translate, pieces)) if Path("struck").exists() else deadly(pieces)


@pytest.mark.parametrize("prepare", [deadly_once, deadly_each_time])
def test_a_piece_that_ends_its_process_is_tried_once_more_alone(command, monkeypatch, prepare):
    put("a.jsonl", *(body({"n": number}) for number in range(500)))
    monkeypatch.setattr(work, "_prepare", prepare)
    translated = work.translate_all(Sources().pieces(["a.jsonl"], None), work.Task("gemini"), 2)
    if prepare is deadly_once:
        assert sum(len(each.documents) for each in translated) == 500
    else:
        with pytest.raises(work.LostWorkerError, match="a worker process ended"):
            list(translated)
    assert Path("struck").exists()


def test_a_conversation_that_cannot_be_searched_is_left_out(command, monkeypatch):
    def fails(text):
        if "bad" in text:
            raise ValueError(text)
        return []

    monkeypatch.setattr(requests, "redactor", lambda *_: Redactor([fails]))
    good, bad = ({"messages": [{"role": "user", "content": text}]} for text in ("good", "bad"))
    put("a.jsonl", good, bad)
    ended = command("translate", "a.jsonl", "--to", "openai_chat", "-o", "out.jsonl", "--redact", "secrets")
    assert ended.code == 3
    assert "text cannot be searched for private data (ValueError)" in ended.err.splitlines()[0]
    assert "[redaction-failed]" in ended.err
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == [good]
    ended = command(
        "translate", "a.jsonl", "--to", "openai_chat", "-o", "no.jsonl", "--redact", "secrets", "--lossless"
    )
    assert ended.code == 1
    assert not Path("no.jsonl").exists()


def test_a_key_without_anything_to_replace_is_refused(command):
    put("a.json", body({}))
    ended = command("translate", "a.json", "--to", "gemini", "-o", "out", "--anonymize-key-file", "x")
    assert ended.code == 2
    assert "--anonymize-key-file has no effect because nothing is replaced; add --redact" in ended.err


def test_addresses_are_said_to_stay_only_where_there_are_any(command):
    put("a.json", body({"n": 1}))
    assert "addresses" not in command("translate", "a.json", "--to", "gemini", "-o", "a.jsonl").err
    put("b.json", {"messages": [{"role": "user", "content": f"mail {MAIL}"}, {"role": "assistant", "content": "k"}]})
    assert command("translate", "b.json", "--to", "gemini", "-o", "b.jsonl", "--anonymize").code == 0
    again = command("translate", "b.jsonl", "--from", "gemini", "--to", "openai_chat", "-o", "c.jsonl")
    assert again.err == "1 conversation written as openai_chat\n", "pseudonyms are nobody's addresses"
