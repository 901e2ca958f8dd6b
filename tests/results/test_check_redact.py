"""``chatsquash check --redact``: what is private in datasets, as a gate."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from chatsquash.redaction import requests
from chatsquash.redaction.redactor import Redactor
from tests.checks.rows import tool
from tests.conftest import cases
from tests.outputs import put

TOKEN = "ghp_Zq7Vn2Lk9Xw4Rt8Bm3Hc6Yd1Pf5Js0GuAe7T"
HOME = "/home/anatolia/project"
MAIL = "jane.doe@corp.com"
TOOLS = [tool()]
pytestmark = pytest.mark.usefixtures("here")


def record(*texts, **fields):
    roles = ("user", "assistant")
    return {
        "messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)],
        "tools": TOOLS,
        **fields,
    }


def told(ended):
    """File and line, code and the rest of each finding on what is private."""
    found = re.findall(
        r"input=(\S+)\t\[(secret-found|personal-data-found|address-not-redacted|redaction-failed)\] (.*)", ended.out
    )
    return [tuple(each) for each in found]


CLEAN = record("hi", "hello")
ONE = "1 secret found (github token): chatsquash redact replaces it"


@cases("records, kinds, expected",
    ("nothing private", [CLEAN], "secrets,phones,ips,paths,emails", []),
    ("a secret", [CLEAN, record("hi", TOKEN)], "secrets", [("d.jsonl:2", "secret-found", f"messages[1]: {ONE}")]),
    ("one kind is told once a record, at its first message", [record("hi", TOKEN, TOKEN)], "secrets", [("d.jsonl:1", "secret-found", "messages[1]: 2 secrets found (github token): chatsquash redact replaces them")]),
    ("a secret in definitions", [{**CLEAN, "tools": [tool(description=TOKEN)]}], "secrets", [("d.jsonl:1", "secret-found", ONE)]),
    ("a secret in another column", [{**CLEAN, "meta": {"a": [TOKEN]}}], "secrets", [("d.jsonl:1", "secret-found", ONE)]),
    ("a secret in the name of a member", [{**CLEAN, TOKEN: 1}], "secrets", [("d.jsonl:1", "secret-found", ONE)]),
    ("a secret that a member of its name hides", [json.dumps(CLEAN)[:-1].encode() + b', "a": "%s", "a": ""}' % TOKEN.encode()], "secrets", [("d.jsonl:1", "secret-found", ONE)]),
    ("a secret in a reply of prompt and completion", [{"prompt": [CLEAN["messages"][0]], "completion": [{"role": "assistant", "content": TOKEN}], "tools": TOOLS}], "secrets", [("d.jsonl:1", "secret-found", f"messages[1]: {ONE}")]),
    ("a secret in what is no record", [{"chosen": TOKEN}], "secrets", [("d.jsonl:1", "secret-found", ONE)]),
    ("a path", [record(HOME, "ok")], "paths", [("d.jsonl:1", "personal-data-found", "messages[0]: private values found (user): 1, which chatsquash redact replaces")]),
    ("a path that is not asked for", [record(HOME, "ok")], "secrets", []),
    ("an address", [record(MAIL, "ok")], "emails", [("d.jsonl:1", "address-not-redacted", "messages[0]: 1 e-mail address, which convert --anonymize replaces")]),
    ("placeholders", [record("<GITHUB_TOKEN_0123456789>", "/home/user-0123456789/x")], "secrets,paths", []),
)  # fmt: skip
def test_what_is_named_is_found_and_makes_the_exit_code_3(command, records, kinds, expected):
    ended = command("check", put("d.jsonl", *records), "--redact", kinds)
    assert told(ended) == expected
    assert ended.code == (3 if expected else 0)
    assert not any(value in ended.out + ended.err for value in (TOKEN, MAIL, "anatolia"))


def test_without_it_nothing_is_said(command):
    ended = command("check", put("d.jsonl", record(f"{TOKEN} {MAIL}", HOME)))
    assert (ended.code, told(ended)) == (0, [])
    assert told(command("check", "d.jsonl", "--redact", "none")) == []


def test_addresses_that_are_only_reported_leave_the_exit_code(command):
    ended = command("check", put("d.jsonl", record(MAIL, "ok")), "--anonymize")
    assert ([code for _, code, _ in told(ended)], ended.code) == (["address-not-redacted"], 0)
    ended = command("check", "d.jsonl", "--anonymize", "--redact", "secrets")
    assert ([code for _, code, _ in told(ended)], ended.code) == (["address-not-redacted"], 0)


def test_a_folder_is_looked_through(command):
    put("out/data/a.jsonl", record("hi", TOKEN))
    put("out/data/b.jsonl", CLEAN, record(TOKEN, "k"))
    ended = command("check", "out", "--redact", "secrets")
    assert [place for place, _, _ in told(ended)] == ["out/data/a.jsonl:1", "out/data/b.jsonl:2"]
    assert "warnings  2  secret-found" in ended.err.splitlines()


def test_all_columns_of_a_parquet_file_are_looked_at(command):
    said = [{"role": "user", "content": "x"}]
    texts = [json.dumps(each) for each in (*said, {"role": "assistant", "content": TOKEN})]
    frame = pl.DataFrame({
        "messages": [texts, texts[:1]], "tools": [[json.dumps(tool())]] * 2, "note": ["", TOKEN], "image": [b"\xff", None],
    })  # fmt: skip
    frame.write_parquet("d.parquet")
    ended = command("check", "d.parquet", "--redact", "secrets")
    assert told(ended) == [("d.parquet:1", "secret-found", f"messages[1]: {ONE}"), ("d.parquet:2", "secret-found", ONE)]
    assert ended.code == 3


def test_as_json_the_finding_has_its_place_and_no_value(command):
    ended = command("check", put("d.jsonl", record("hi", TOKEN)), "--redact", "secrets", "--json")
    (found,) = map(json.loads, ended.out.splitlines())
    assert {name: found[name] for name in ("code", "severity", "file", "line", "message")} == {
        "code": "secret-found", "severity": "warning", "file": "d.jsonl", "line": 1, "message": 1,
    }  # fmt: skip
    assert TOKEN not in ended.out


def test_lists_and_patterns_are_looked_for_without_a_kind(command):
    Path("deny").write_text("blue harvest\n")
    put("d.jsonl", record("blue harvest", "TICKET-123"))
    ended = command("check", "d.jsonl", "--deny", "deny", "--redact-pattern", r"ticket=TICKET-\d+")
    assert [text for _, _, text in told(ended)] == [
        "messages[0]: 1 secret found (secret): chatsquash redact replaces it",
        "messages[1]: 1 secret found (ticket): chatsquash redact replaces it",
    ]
    assert ended.code == 3
    Path("allow").write_text("blue harvest\n")
    assert command("check", "d.jsonl", "--redact", "secrets", "--allow", "allow").code == 0


def test_a_record_that_cannot_be_searched_is_an_error(command, monkeypatch):
    def fails(text):
        raise ValueError(text)

    monkeypatch.setattr(requests, "redactor", lambda *_: Redactor([fails]))
    ended = command("check", put("d.jsonl", CLEAN), "--redact", "secrets")
    assert [(place, code) for place, code, _ in told(ended)] == [("d.jsonl:1", "redaction-failed")]
    assert ended.code == 3


IDLE = [
    ("--redact none --anonymize", "--redact none has no effect with --anonymize"),
    ("--redact emails --no-anonymize", "--redact emails has no effect with --no-anonymize"),
    ("--allow x", "--allow has no effect without --redact KINDS"),
    ("--redact secrets --phone-region DE", "--phone-region has no effect without --redact phones"),
    ("--redact ips --redact-rules x", "--redact-rules has no effect without --redact secrets"),
    ("--redact secrets,none", "none cannot be combined with other kinds"),
    ("--redact names", "the file with names is missing"),
    ("--redact names:nowhere", "nowhere: cannot be read"),
]


@pytest.mark.parametrize("given, why", IDLE, ids=[row[0] for row in IDLE])
def test_options_without_effect_are_refused(command, given, why):
    Path("x").write_text("")
    ended = command("check", put("d.jsonl", CLEAN), *given.split())
    assert ended.code == 2
    assert why in ended.err


def test_a_variable_without_effect_is_passed_over(command, monkeypatch):
    monkeypatch.setenv("CHATSQUASH_PHONE_REGION", "DE")
    monkeypatch.setenv("CHATSQUASH_REDACT", "secrets")
    put("d.jsonl", record("hi", TOKEN))
    assert command("check", "d.jsonl").code == 3
    assert command("check", "d.jsonl", "--redact", "none").code == 0


def test_no_finding_quotes_what_is_private(command):
    token = "ghp_" + "Zq7Vn2Lk9Xw4Rt8Bm3Hc6Yd1Pf5Js0GuAe7T"
    tool = {"type": "function", "function": {"name": token, "parameters": {}}}
    path = put("d.jsonl", {"messages": [{"role": f"x{token}"}, {"role": "user", "content": token}], "tools": [tool]})
    for more in ([], ["--json"]):
        ended = command("check", path, "--redact", "secrets", *more)
        assert ended.code == 3
        assert token[:10] not in ended.out + ended.err
