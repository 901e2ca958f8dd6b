"""Captures of HTTP hold keys and cookies: none of them reaches the output, whatever is asked for and whatever is broken."""

import gzip
import json
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError

SAMPLES = Path(__file__).parents[2] / "sample_logs"
SECRETS = (b"Bearer example", b"set-cookie", b"sessionid=example", b"x-broken-key")


def capture():
    held = json.loads((SAMPLES / "har" / "tides.har").read_text(encoding="utf-8"))
    entries = held["log"]["entries"]
    broken = json.loads(json.dumps(next(each for each in entries if each["request"]["method"] == "POST")))
    broken["request"]["headers"] += [{"name": "cookie", "value": "sessionid=example"}]
    text = broken["request"]["postData"]["text"]
    broken["request"]["postData"]["text"] = text[: len(text) // 2] + " x-broken-key"
    entries.append(broken)
    return json.dumps(held).encode()


PACKINGS = [("c.har", bytes), ("c.har.gz", lambda data: gzip.compress(data, mtime=0)), ("c.zhar", zlib.compress)]


@pytest.mark.parametrize("sessions_by", ["file", "id"])
@pytest.mark.parametrize("name, packed", PACKINGS, ids=[name for name, _ in PACKINGS])
def test_no_line_of_a_capture_is_kept(tmp_path, name, packed, sessions_by):
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    (logs / name).write_bytes(packed(capture()))
    summary = convert(logs, out, Options(keep_rejected=True, sessions_by=sessions_by, redact=None))
    assert summary.account.unreadable == 1
    for path in filter(Path.is_file, out.rglob("*")):
        assert not any(secret in path.read_bytes() for secret in SECRETS), path
    assert not list(out.rglob("rejected-lines*"))


def pages():
    """A capture whose entries stand far behind its beginning."""
    held = json.loads(capture())
    return json.dumps({"log": {"pages": [{"title": "?sessionid=example"}] * 200_000, **held["log"]}}).encode()


UNKNOWN = [
    ("c.har", lambda data: b'{"comment": "", ' + data[1:]),
    ("c.har", lambda data: data[: len(data) // 2]),
    ("c.json", lambda data: b'{"comment": "", ' + data[1:]),
    ("c.jsonl", lambda data: data[5000:]),
    ("c.jsonl", lambda data: json.dumps(json.loads(data), indent=1).encode()[:-9]),
    ("c.jsonl", lambda data: json.dumps(json.loads(data)["log"]["entries"]).encode()),
    ("c.har", lambda data: json.dumps(json.loads(data)["log"]["entries"]).encode()),
    ("c.flow", lambda _: b"\n12:x-broken-key"),
    ("c.jsonl", lambda _: pages()),
]


@pytest.mark.parametrize("name, changed", UNKNOWN, ids=map(str, range(len(UNKNOWN))))
def test_no_line_of_what_may_be_a_capture_is_kept(here, name, changed):
    (here / name).write_bytes(changed(capture()))
    with suppress(UsageError):
        convert(name, "out", Options(keep_rejected=True, redact=None))
    assert not list(here.rglob("rejected-lines*"))
    for path in filter(Path.is_file, (here / "out").rglob("*")):
        assert not any(secret in path.read_bytes() for secret in SECRETS), path


def test_lines_of_a_log_are_kept(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_bytes(b'{"request": x-broken-key}\n')
    convert(tmp_path / "logs", tmp_path / "out", Options(keep_rejected=True, redact=None))
    assert any(b"x-broken-key" in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
