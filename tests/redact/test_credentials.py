"""What headers hold to sign in with is shown and stored nowhere, whatever becomes of its line."""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.inspect.inspect import inspect
from chatsquash.session import private_texts as module
from tests.conftest import log_line, tree, write_log
from tests.redact.rows import rows

SECRET = "sk-very-secret"
HEADERS = [
    {"authorization": f"Bearer {SECRET}"},
    {"Authorization": [f"Bearer {SECRET}", SECRET]},
    {"x-api-key": SECRET},
    {"X-Goog-Api-Key": SECRET},
    {"cookie": f'a="{SECRET}"; b=\\'},
    {"Set-Cookie": SECRET},
    {"Proxy-Authorization": SECRET},
    {"x-amz-security-token": SECRET},
    [["authorization", SECRET], ["accept", "x"]],
    [{"name": "authorization", "value": SECRET}],
    f"POST /v1 HTTP/1.1\r\nAuthorization: Bearer {SECRET}\r\nAccept: x",
    json.dumps({"headers": {"authorization": SECRET, "a": "b"}}),
    f"https://host/v1?key={SECRET}&alt=sse",
]


def pair(headers, **body):
    line = log_line("hi")
    return {
        "request": {"headers": headers, "body": body or line["request"]},
        "response": {"headers": headers, "status": 200, "body": line["response"]},
        "logged_at": "2026-01-13T10:00:00Z",
    }


@pytest.mark.parametrize("headers", HEADERS, ids=lambda headers: str(headers)[:30])
def test_credentials_are_in_no_output(tmp_path, headers):
    write_log(tmp_path / "logs/a.jsonl", pair(headers), pair(headers, model="m"), pair(headers, messages=[7]))
    summary = convert(tmp_path / "logs", tmp_path / "out", Options(keep_rejected=True))
    assert (summary.written, summary.account.unreadable) == (1, 2)
    written = b"".join(data or b"" for data in tree(tmp_path / "out").values())
    assert SECRET.encode() not in written
    assert written.count(b"[removed]") == 4, "both headers of both lines"
    assert SECRET not in "\n".join(inspect([str(tmp_path / "logs")], Options(anonymize=False), verbose=True))


def test_credentials_that_stand_where_a_line_is_read_in_two_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 64)
    monkeypatch.setattr(module, "START_MAX", 200)
    broken = pair({"authorization": SECRET}, text="x" * 500, messages=7)
    write_log(tmp_path / "logs/a.jsonl", pair({}), broken)
    convert(tmp_path / "logs", tmp_path / "out", Options(keep_rejected=True))
    kept = (tmp_path / "out/reports/rejected-lines.jsonl").read_bytes()
    assert SECRET.encode() not in kept
    assert b"x" * 500 in kept


KEPT = rows("credentials.kept")


@pytest.mark.parametrize("line, kept, why", KEPT, ids=[why for *_, why in KEPT])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_what_is_kept_of_a_line_does_not_depend_on_its_pieces(monkeypatch, line, kept, why, size):
    monkeypatch.setattr(module, "START_MAX", 50)
    whole = f'{{"a": {line}}} {line}'.encode()
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    removed = b"".join(module.without_credentials(pieces))
    ended = b"".join(module.without_credentials([line.encode()]))
    assert ended == kept.encode()
    assert removed == b"".join(module.without_credentials([whole]))


def test_a_long_credential_is_not_kept_in_memory():
    started = (b'{"token": "', *[b"\\\\x" * 1000] * 500, b'", "a": 1}')
    kept = list(module.without_credentials(started))
    assert b"".join(kept) == b'{"token": "[removed]", "a": 1}'
    assert max(map(len, kept)) < 100
