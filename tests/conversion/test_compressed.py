"""What else a run does, it does with compressed logs as with plain ones."""

import bz2
import gzip
import json
import lzma
import re
from pathlib import Path

import pytest
import zstandard

from chatsquash import Options, convert
from chatsquash.core.accounting import Account
from chatsquash.reading.identify import is_readable
from chatsquash.reading.sessions import split
from chatsquash.records.datasets import rows
from chatsquash.results.verify import verify
from chatsquash.session.converter import Converter
from chatsquash.sources.find import discover
from chatsquash.storage.folder import Folder
from tests.conftest import log_line, tree, write_log

WAYS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}
MIXED = [log_line(f"{name}{n}", at=n, session_id=name) for n in range(1, 9) for name in ("x", "y", "z")]


def logged(name, *lines):
    """Entries of one session, each of which has a message more and names its model and its tokens."""
    said = [{"role": "user", "content": f"{name}: {number}"} for number in range(len(lines))]
    for number, model in enumerate(lines):
        response = {
            "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}}],
            "usage": {"prompt_tokens": number, "completion_tokens": 2 * number},
        }
        request = {"messages": said[: number + 1]}
        yield {"timestamp": number, "session_id": name, "request": request, "response": response}


LOGS = {
    "2026-01-12/a.jsonl": [*logged("a", "m1", "m2", "m3"), b"", b"{broken"],
    "2026-01-12/b.jsonl": [*logged("b", "m1")],
    "2026-01-13/c.jsonl": [*logged("c", "m1", "other")],
    "2026-01-13/d.jsonl": MIXED,
}


@pytest.fixture
def here(here):
    """The present folder is a new one with a few logs in ``plain``, and the same in ``logs``, compressed."""
    for (name, lines), (way, compress) in zip(LOGS.items(), WAYS.items(), strict=True):
        path = write_log(Path("plain") / name, *lines)
        squeezed = Path("logs") / f"{name}.{way}"
        squeezed.parent.mkdir(parents=True, exist_ok=True)
        squeezed.write_bytes(compress(path.read_bytes()))
    return here


def results(out) -> dict[str, bytes]:
    """The files of records, in which logs are called as if they were not compressed."""
    files = {name: data for name, data in tree(Path(out)).items() if name.startswith(("data/", "20", "19"))}
    return {name: re.sub(rb"\.jsonl\.(gz|bz2|xz|zst)", b".jsonl", data) for name, data in files.items()}


@pytest.mark.parametrize("sessions_by", ["file", "id"])
def test_a_dataset_folder_of_compressed_logs_knows_models_and_tokens(here, sessions_by):
    options = Options(format="jsonl", metadata=True, sessions_by=sessions_by, split="train=0.5,test=0.5")
    of_plain, of_compressed = convert("plain", "expected", options), convert("logs", "out", options)
    told = [json.loads(line) for name in sorted(results("out")) for line in results("out")[name].splitlines()]
    assert {each["model"] for each in told if each["session_id"] in "abc"} == {"m3", "m1", "other"}
    assert {each["completion_tokens"] for each in told if each["session_id"] in "abc"} == {4, 0, 2}
    assert results("out") == results("expected")
    assert (of_compressed.account, of_compressed.sizes) == (of_plain.account, of_plain.sizes)


def test_logs_are_chosen_by_the_model_that_their_compressed_lines_name(here):
    summary = convert("logs", "out", Options(only_model=("m3",)))
    assert (summary.written, dict(summary.filtered)) == (1, {"--only-model": 5})


@pytest.mark.parametrize(
    "options", [Options(min_turns=2), Options(drop_duplicates=True)], ids=["filtered", "duplicates"]
)
def test_the_bytes_of_what_is_not_wanted_count_as_left_out(here, options):
    again = write_log(here / "plain/2026-01-12/e.jsonl", *LOGS["2026-01-12/b.jsonl"])
    (here / "logs/2026-01-12/e.jsonl.gz").write_bytes(WAYS["gz"](again.read_bytes()))
    for folder in ("plain", "logs"):
        summary = convert(folder, folder + "-out", options)
        assert summary.bytes == sum(summary.sizes)
        assert summary.sizes.left_out > 0
    plain = convert("plain", "plain-out", Options(min_turns=99, replace=True))
    seen = sum(path.stat().st_size for path in Path("plain").rglob("*.jsonl"))
    assert plain.sizes == Account(left_out=seen - len(b"\n{broken\n"), unreadable=len(b"{broken\n"), blank=1)


@pytest.mark.parametrize("sessions_by", [None, "file", "id"])
def test_compressed_logs_are_verified(here, sessions_by):
    convert("logs", "out", Options(sessions_by=sessions_by))
    done = verify(Path("out"), logs=True)
    assert (done.logs, done.problems) == (4, [])
    for way, name in zip(WAYS, LOGS, strict=True):
        path = Path("logs") / f"{name}.{way}"
        path.write_bytes(WAYS[way](write_log(here / "other", log_line("other")).read_bytes()))
        problem = f"{path}: file has changed since it was converted"
        assert problem in verify(Path("out"), logs=True).problems


def test_a_log_is_verified_with_the_bounds_that_it_was_read_with(here):
    convert("logs", "out", Options(sessions_by="id", max_line=300, max_expanded=3000))
    assert verify(Path("out"), logs=True).problems == []


@pytest.mark.parametrize("sessions_by", [None, "id"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_known_of_compressed_logs_is_taken_from_the_last_run(here, monkeypatch, sessions_by, workers):
    monkeypatch.setattr("chatsquash.conversion.workers._WORTH_A_PROCESS", 1)
    options = Options(sessions_by=sessions_by, workers=workers)
    first = convert("logs", "out", options)
    write_log(here / "logs/2026-01-12/e.jsonl", log_line("new"))
    assert convert("logs", "out", options).reused == first.sessions
    assert convert("logs", "out", options).unchanged
    convert("logs", "full", options)
    assert results("out") == results("full")
    assert not Path("out/.chatsquash/expanded").exists()


def test_what_an_interrupted_run_knew_of_a_log_that_is_taken_apart_is_taken(here):
    def interrupt(job, outcome, total):
        if outcome.session == "y":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert("logs", "out", Options(sessions_by="id"), interrupt)
    assert not Path("out/.chatsquash/expanded").exists()
    assert convert("logs", "out", Options(sessions_by="id", resume=True)).reused >= 5
    convert("logs", "full", Options(sessions_by="id"))
    assert results("out") == results("full")


def test_a_compressed_log_that_grows_is_said_to_and_none_of_its_sessions_is_cut(here):
    path = here / "logs/2026-01-13/d.jsonl.zst"
    options = Options(anonymize=False)
    (job,) = discover([str(path)], options, is_readable).logs
    parts = split(job, options, Folder(here / "expanded"))
    expected = [Converter(options).convert(part).record for part in parts]
    with path.open("ab") as file:
        file.write(zstandard.compress(b"{}\n"))
    found = [Converter(options).convert(part) for part in parts]
    assert [outcome.record for outcome in found] == expected
    assert all("changed-log" in [each.code for each in outcome.findings] for outcome in found)


@pytest.mark.parametrize("way", WAYS)
def test_translate_reads_what_is_compressed_and_says_what_it_misses(here, command, way):
    data = Path("plain/2026-01-12/b.jsonl").read_bytes()
    Path("one.jsonl").write_bytes(data)
    Path(f"a.jsonl.{way}").write_bytes(WAYS[way](data))
    plain, packed = (
        command("translate", name, "--to", "anthropic", "-o", "-") for name in ("one.jsonl", f"a.jsonl.{way}")
    )
    assert packed.out == plain.out
    command("translate", f"a.jsonl.{way}", "--to", "anthropic", "-o", "chats")
    assert [path.name for path in Path("chats").iterdir()] == ["b.json"]
    Path(f"cut.jsonl.{way}").write_bytes(WAYS[way](data) + WAYS[way](data)[:-3])
    cut = command("translate", f"cut.jsonl.{way}", "--to", "anthropic", "-o", "-")
    assert f"ignored  1  the rest of cut.jsonl.{way}: the compressed data ends early" in cut.err


@pytest.mark.parametrize("way", WAYS)
def test_records_are_read_from_files_compressed_in_every_way(here, way):
    convert("plain", "out")
    data = Path("out/2026-01-12.jsonl").read_bytes()
    Path(f"r.jsonl.{way}").write_bytes(WAYS[way](data))
    assert [(row.data, row.session) for row in rows(f"r.jsonl.{way}")] == [(line, "r") for line in data.splitlines()]


def test_a_body_alone_is_read_compressed_as_it_is_plain(here):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    for folder, compress in (("bodies", bytes), ("packed", gzip.compress)):
        path = here / folder / ("b.json" if compress is bytes else "b.json.gz")
        path.parent.mkdir()
        path.write_bytes(compress(json.dumps(body).encode()))
        summary = convert(folder, f"{folder}-out")
        assert (summary.written, summary.bytes) == (1, len(json.dumps(body)))


def test_an_exchange_on_several_lines_keeps_to_the_bounds_and_its_bytes_count(here):
    text = json.dumps(next(logged("s", "m")), indent=2)
    Path("spread").mkdir()
    Path("spread/a.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    summary = convert("spread", "out", Options())
    assert (summary.written, summary.sizes) == (1, Account(selected=len(text) + 3))
    summary = convert("spread", "out", Options(max_line=100, replace=True))
    assert (summary.written, summary.sizes) == (0, Account(unreadable=len(text) + 3))
    (rejected,) = Path("out/reports/rejected.jsonl").read_text().splitlines()
    assert "longer than 100 bytes (--max-line)" in rejected
