"""What is compiled: when it is used, what it is told, and that its JSON is ours; `tests/plain` holds what it reads."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random

import orjson
import pytest

from chatsquash import compiled
from chatsquash.entries.compiled import MEMBERS, ROLES, Compiled, transcribe
from chatsquash.entries.lines import Buffers
from chatsquash.jsonio import dumps
from tests.conftest import tree
from tests.generate import ROOT

built = pytest.mark.skipif(not compiled.module(), reason="chatsquash-fast is not built")
LOOKS = bytes(256 * len(ROLES))
LOG = {
    "timestamp": "2026-01-13T10:00:01Z",
    "session_id": "s1",
    "request": {"model": "m", "messages": [{"role": "user", "content": "hello"}]},
    "response": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "yes"}}]},
}
FAKES = {
    "another way": (
        "WAY = 3; __version__ = '9.9'",
        "chatsquash-fast 9.9 is ignored, since it belongs to another version",
    ),
    "no way": ("", "chatsquash-fast of no version is ignored, since it belongs to another version"),
    "not to be loaded": ("raise ImportError('no such ABI')", "ignored, since it cannot be loaded: no such ABI"),
}


def command(*words: str, cwd: Path, **env: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "chatsquash", *words],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def read(data: bytes, chunk: int = 1 << 16) -> Compiled | None:
    """A log as the compiled way reads it, so many bytes at once."""
    left = [data[at : at + chunk] for at in range(0, len(data), chunk)]

    def more(buffer: bytearray, start: int, filled: int) -> tuple[bytearray, int]:
        rest = buffer[start:filled] + (left.pop(0) if left else b"")
        return rest + bytes(9), len(rest)

    return transcribe(compiled.module(), more, 1 << 20, Buffers(), LOOKS)


@pytest.mark.parametrize("fake", FAKES)
def test_one_that_does_not_fit_is_ignored_and_named(fake, tmp_path):
    code, told = FAKES[fake]
    (tmp_path / "chatsquash_fast.py").write_text(code)
    (tmp_path / "log.jsonl").write_bytes(orjson.dumps(LOG))
    assert told in command("--version", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    command("convert", "log.jsonl", "-o", "out", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert json.loads((tmp_path / "out" / "run.json").read_bytes())["compiled"] is None


@built
def test_the_version_is_that_of_the_distribution():
    project = tomllib.loads((ROOT / "accelerator" / "pyproject.toml").read_text())["project"]
    assert compiled.module().__version__ == project["version"]
    assert compiled.told() == f"{project['name']} {project['version']}"


@built
def test_it_is_off_by_a_variable_and_the_output_is_the_same_but_for_one_line(tmp_path):
    told = command("--version", cwd=tmp_path, CHATSQUASH_PURE="1")
    assert told.endswith("is ignored, as CHATSQUASH_PURE asks for\n")
    for out, pure in (("fast", ""), ("pure", "1")):
        logs = str(ROOT / "sample_logs")
        command("convert", logs, "-o", out, "--no-anonymize", "--workers", "1", cwd=tmp_path, CHATSQUASH_PURE=pure)
    fast, pure = tree(tmp_path / "fast"), tree(tmp_path / "pure")
    assert {name for name in fast if fast[name] != pure.get(name)} <= {"run.json"}
    manifests = [json.loads(each["run.json"] or b"") for each in (fast, pure)]
    assert [each.pop("compiled") for each in manifests] == [compiled.told(), None]
    assert {**manifests[0], "seconds": 0} == {**manifests[1], "seconds": 0}
    command("verify", "fast", cwd=tmp_path, CHATSQUASH_PURE="1")


@built
def test_what_one_way_kept_serves_the_other(tmp_path):
    shown = []
    for pure in ("", "1", ""):
        logs = str(ROOT / "sample_logs")
        command("convert", logs, "-o", "out", "--no-anonymize", cwd=tmp_path, CHATSQUASH_PURE=pure)
        shown.append(tree(tmp_path / "out" / ".chatsquash" / "journal"))
    assert shown[0] == shown[1] == shown[2]  # nothing was converted anew


@built
@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_messages_are_written_as_orjson_writes_them(chunk):
    random = Random(chunk)
    characters = [
        "a",
        " ",
        '"',
        "\\",
        "/",
        "\n",
        "\t",
        "\r",
        "\b",
        "\f",
        "\0",
        "\x1f",
        "\x7f",
        "é",
        "\u2028",
        "\uffff",
        "😀",
    ]
    for _ in range(300):
        text = "".join(random.choices(characters, k=random.randrange(12)))
        messages = [{"role": "user", "content": text}, {"role": "system", "name": text, "content": "be brief"}]
        reply = {"content": text, "role": "assistant"}
        log = {**LOG, "request": {"messages": messages}, "response": {"model": "m", "choices": [{"message": reply}]}}
        data = json.dumps(log, ensure_ascii=random.random() < 0.5).replace("/", random.choice(["/", "\\/"])).encode()
        found = read(data, chunk)
        assert found
        assert found.written == b",".join(map(dumps, [*messages, reply]))


@built
@pytest.mark.parametrize(
    "spelled",
    [
        *(b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud800\\u0041"', b'"\\u12g4"', b'"\\x41"', b'"\\"', b'"\n"', b'"\t"'),
        *(b'"\xff"', b'"\xc0\x80"', b'"\xe0\x80\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xf0\x80\x80\x80"'),
        *(b'"\xc3"', b'"', b"01", b"1.", b"1e", b"-", b"+1", b".5", b"NaN", b"nul", b"truefalse", b"[1,]", b'{"a":1,}'),
        *(b"{1:2}", b'{"a" 1}', b"[1 2]", b"[", b"{", b"[" * 100 + b"]" * 100, b""),
    ],
)
def test_what_is_no_json_is_left_to_others(spelled):
    for place in (b'"m","messages"', b'"hello"', b'"2026-01-13T10:00:01Z"'):
        data = orjson.dumps(LOG)
        assert read(data)
        damaged = data.replace(place, spelled + (b',"messages"' if place.startswith(b'"m"') else b""), 1)
        assert damaged != data
        assert read(damaged) is None, place


@built
@pytest.mark.parametrize("identifier", [b"1", b"[1]", b'{"id":1}', b"true", b"1" * 4301])
def test_an_id_that_is_no_string_is_left_to_others(identifier):
    log = {**LOG, "response": {**LOG["response"], "id": 0}}
    data = orjson.dumps(log).replace(b'"id":0', b'"id":' + identifier)
    assert read(orjson.dumps({**log, "response": {**log["response"], "id": "r"}}))
    assert read(data) is None


@built
def test_what_is_kept_of_every_line_is_short():
    assert read(orjson.dumps({**LOG, "timestamp": "2" * 61}))
    assert read(orjson.dumps({**LOG, "timestamp": "2" * 62})) is None


@built
def test_members_are_told_of_the_last_reply_too():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = {"role": "assistant", "tool_calls": [call]}
    found = read(orjson.dumps({**LOG, "response": {"model": "m", "choices": [{"message": reply}]}}))
    assert found
    assert [name for bit, name in enumerate(MEMBERS) if found.told.members >> bit & 1] == [
        "role",
        "content",
        "tool_calls",
    ]


@built
def test_a_reader_that_lies_is_refused():
    with pytest.raises(ValueError, match="not in the buffer"):
        transcribe(compiled.module(), lambda buffer, start, filled: (buffer, 1 << 40), 1 << 20, Buffers(), LOOKS)
    with pytest.raises(SystemError):
        transcribe(compiled.module(), lambda buffer, start, filled: 5, 1 << 20, Buffers(), LOOKS)
    with pytest.raises(ValueError, match="another version"):
        transcribe(compiled.module(), lambda buffer, start, filled: (buffer, 0), 1 << 20, Buffers(), b"")
    with pytest.raises(ZeroDivisionError):
        transcribe(compiled.module(), lambda buffer, start, filled: 1 // 0, 1 << 20, Buffers(), LOOKS)
