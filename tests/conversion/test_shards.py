"""What shards are given, refuse, and leave behind."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from xxhash import xxh3_128_hexdigest

from chatsquash import Options, convert
from chatsquash.conversion.shards import divide as division
from chatsquash.conversion.shards import listing as listings
from chatsquash.conversion.shards import parts, place
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import ChatsquashError, UsageError
from tests.conftest import cases, log_line, tree, write_log
from tests.conversion.test_shards_law import OPTIONS, written

KEY = b"a key for tests of shards"
PLAIN = Options(anonymize=False)
OUT = Path("out")
SHARDS = OUT / ".chatsquash" / "shards"


@pytest.fixture
def logs(here) -> Path:
    """Six logs of different sizes."""
    for number in range(6):
        lines = [log_line(*"abc"[:n], "x" * 300 * number, at=n) for n in (1, 2, 3)]
        write_log(here / "logs" / f"{number}.jsonl", *lines)
    return here


def all_shards(count: int, options: Options = PLAIN) -> None:
    for number in range(1, count + 1):
        convert_shard(OUT, Shard(number, count), options)


def marker(number: int, count: int) -> Path:
    return SHARDS / Shard(number, count).marker


# The listing


def test_shards_are_balanced_by_bytes_and_no_log_is_divided(logs):
    divided = divide("logs", OUT, PLAIN, 3)
    held = [
        [json.loads(line) for line in (SHARDS / Shard(number, 3).logs).read_text().splitlines()] for number in (1, 2, 3)
    ]
    sizes = [sum(row["size"] for row in rows) for rows in held]
    assert max(sizes) == divided.largest < 1.3 * min(sizes)
    assert sorted(row["number"] for rows in held for row in rows) == list(range(6))
    assert [[row["number"] for row in rows] for rows in held] == [[0, 5], [1, 4], [2, 3]]


def test_a_listing_has_each_log_with_its_path_size_and_time_for_its_owner_alone(logs):
    divide("logs", OUT, PLAIN, 1)
    path = SHARDS / "logs-00001-of-00001.jsonl"
    status = Path("logs/0.jsonl").stat()
    row = {
        "number": 0, "path": "logs/0.jsonl", "name": "0.jsonl", "size": status.st_size,
        "modified": status.st_mtime_ns,
    }  # fmt: skip
    assert json.loads(path.read_text().splitlines()[0]) == row
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert oct(SHARDS.stat().st_mode & 0o777) == "0o700"


def test_logs_that_share_a_session_are_in_one_shard(here):
    said = ["Which of the tests in tests/test_sum.py fails on the new machine?", "And which of them on the old one?"]
    for number in range(4):
        first = log_line(said[0], reply="Only one.", at=1)
        second = log_line(said[0], {"role": "assistant", "content": "Only one."}, said[1], at=2)
        for name, line in ((f"a{number}", first), (f"b{number}", second)):
            line["session_id"] = f"session {number}"
            write_log(here / "logs" / f"{name}.jsonl", line)
    options = Options(anonymize=False, sessions_by="chain")
    divide("logs", OUT, options, 4)
    for number in range(1, 5):
        rows = [json.loads(line) for line in (SHARDS / Shard(number, 4).logs).read_text().splitlines()]
        names = [[Path(piece[0]).stem for piece in row["pieces"]] for row in rows]
        assert all(first[1:] == second[1:] for first, second in names)
        assert len(names) == 1


def test_paths_count_from_where_the_listing_was_made(logs, monkeypatch, tmp_path_factory):
    divide("logs", OUT, PLAIN, 2)
    out = OUT.absolute()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    for number in (1, 2):
        convert_shard(out, Shard(number, 2), PLAIN)
    merge(out)
    monkeypatch.chdir(logs)
    convert("logs", "local", PLAIN)
    assert written(OUT) == written(Path("local"))


def test_where_they_count_from_has_to_be_there(logs):
    divide("logs", OUT, PLAIN, 1)
    listing = json.loads((SHARDS / "listing.json").read_text())
    (SHARDS / "listing.json").write_text(json.dumps({**listing, "folder": "/nowhere"}))
    with pytest.raises(
        UsageError, match="/nowhere: no such folder on this machine, but the paths of the logs are relative to it"
    ):
        convert_shard(OUT, Shard(1, 1), PLAIN)


def test_a_new_listing_removes_what_an_earlier_one_left(logs):
    divide("logs", OUT, PLAIN, 2)
    all_shards(2)
    divide("logs", OUT, PLAIN, 3)
    assert sorted(path.name for path in SHARDS.iterdir()) == [
        "listing.json", *(Shard(number, 3).logs for number in (1, 2, 3)), "order.u32",
    ]  # fmt: skip


def test_a_listing_for_a_folder_with_the_result_of_other_logs_is_refused(logs):
    convert("logs", OUT, PLAIN)
    write_log(logs / "others" / "a.jsonl")
    with pytest.raises(UsageError, match="none of these logs is read in this run"):
        divide("others", OUT, PLAIN, 1)


# What is refused


@cases(
    "given, error",
    ("no listing", [], "out: no listing in this folder, or its shards were already merged; create one with: chatsquash shards LOGS -o out -n 64"),
    ("a number beyond the last", ["--shard", "3/2"], "--shard 3/2: the shard number must be between 1 and 2"),
    ("0, since they count from 1", ["--shard", "0/2"], "--shard 0/2: the shard number must be between 1 and 2"),
    ("what is no shard", ["--shard", "x"], "--shard 'x': not a shard; use the form K/N, for example 3/64"),
)  # fmt: skip
def test_shards_that_cannot_be_meant_are_refused(command, here, given, error):
    code, out, err = command("convert", "-o", "out", *(given or ["--shard", "1/2"]))
    assert (code, out, err) == (2, "", f"error: {error}\n")


@cases(
    "given, error",
    ("logs", ["logs"], "logs has no effect with --shard"),
    ("an option that the listing has", ["--preset", "hf"], "--preset hf has no effect with --shard"),
    ("a flag", ["--strict"], "--strict has no effect with --shard"),
)
def test_what_the_listing_has_is_refused_beside_a_shard(command, logs, given, error):
    command("shards", "logs", "-n", "2", "--no-anonymize")
    code, _, err = command("convert", "--shard", "1/2", *given)
    why = "because the listing determines it; remove it, or create a new listing with chatsquash shards."
    assert (code, err.splitlines()[-1]) == (2, f"error: {error} {why.rstrip(chr(46))}")


def test_another_number_of_shards_is_refused(logs):
    divide("logs", OUT, PLAIN, 2)
    with pytest.raises(UsageError, match=r"--shard 1/3: the listing has 2 shards"):
        convert_shard(OUT, Shard(1, 3), PLAIN)


def test_a_limit_is_refused(command, logs):
    code, _, err = command("shards", "logs", "-n", "2", "--limit", "3")
    assert (code, err) == (2, "error: --limit cannot be used with shards; remove it\n")


def test_pseudonyms_need_one_named_key(command, logs, monkeypatch):
    monkeypatch.delenv("CHATSQUASH_ANONYMIZE_KEY_FILE")
    Path("key").write_bytes(KEY)
    Path("other").write_bytes(KEY + b"!")
    command("shards", "logs", "-n", "2", "--anonymize-key-file", "key")
    for given, error in (
        ([], "replacing e-mail addresses requires a key; pass the same key to all shards with"),
        (["--anonymize-key-file", "other"], "the key does not match the listing's key"),
    ):
        code, _, err = command("convert", "--shard", "1/2", *given)
        assert (code, err.startswith(f"error: --shard 1/2: {error}")) == (2, True)
    assert command("convert", "--shard", "1/2", "--anonymize-key-file", "key", "-q").code == 0
    assert KEY not in b"".join(data or b"" for data in tree(OUT).values())


# Markers and parts


def test_a_shard_that_is_converted_is_skipped_and_full_converts_it_again(logs):
    divide("logs", OUT, PLAIN, 2)
    assert not convert_shard(OUT, Shard(1, 2), PLAIN).is_known
    before = tree(SHARDS)
    assert convert_shard(OUT, Shard(1, 2), PLAIN).is_known
    assert not convert_shard(OUT, Shard(1, 2), Options(anonymize=False, full=True)).is_known
    assert tree(SHARDS) == before


def test_a_shard_whose_part_is_gone_or_cut_is_converted_again(logs):
    divide("logs", OUT, PLAIN, 1)
    for spoil in (Path.unlink, lambda path: os.truncate(path, 10)):
        convert_shard(OUT, Shard(1, 1), PLAIN)
        spoil(next(SHARDS.glob("part-*")))
        with pytest.raises(
            UsageError, match="shard 1: the output is missing or truncated; convert it again with --full"
        ):
            merge(OUT)
        assert not convert_shard(OUT, Shard(1, 1), PLAIN).is_known
    merge(OUT)


def test_missing_shards_are_named(logs):
    divide("logs", OUT, PLAIN, 9)
    for number in (2, 6):
        convert_shard(OUT, Shard(number, 9), PLAIN)
    with pytest.raises(UsageError, match=r"^7 of 9 shards not converted: 1, 3-5, 7-9; convert each with"):
        merge(OUT)


MIXED = [("version", "0.0.9", "the version"), ("code", "0" * 32, "the code"), ("key_fingerprint", "x", "the key")]


@pytest.mark.parametrize("member, value, told", MIXED, ids=[row[0] for row in MIXED])
def test_a_mixture_names_the_two_that_differ(logs, member, value, told):
    divide("logs", OUT, PLAIN, 3)
    all_shards(3)
    held = json.loads(marker(3, 3).read_text())
    marker(3, 3).write_text(json.dumps({**held, member: value}))
    with pytest.raises(UsageError, match=f"^shards 1 and 3 differ in {told}"):
        merge(OUT)
    assert not convert_shard(OUT, Shard(3, 3), PLAIN).is_known
    merge(OUT)


def test_a_shard_of_another_listing_is_told(logs):
    divide("logs", OUT, PLAIN, 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    left = {path.name: path.read_bytes() for path in SHARDS.iterdir() if path.name.startswith(("part", "done"))}
    write_log(logs / "logs" / "new.jsonl")
    divide("logs", OUT, PLAIN, 1)
    for name, data in left.items():
        (SHARDS / name).write_bytes(data)
    with pytest.raises(UsageError, match=r"^shard 1: converted from another listing; convert it again"):
        merge(OUT)


def spoiled(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("preset", ["chat", "hf"])
def test_a_part_that_is_not_as_it_was_written_is_told_and_nothing_is_written(logs, preset):
    divide("logs", OUT, Options(anonymize=False, preset=preset), 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    path = next(SHARDS.glob("part-*"))
    data = path.read_bytes()
    for at in {*range(0, len(data), 61), *(at for at, byte in enumerate(data) if byte == ord("\n"))}:
        path.write_bytes(spoiled(data, at))
        with pytest.raises(UsageError, match="was changed since it was written"):
            merge(OUT)
        assert not (OUT / "run.json").exists()


@pytest.mark.parametrize("name", ["listing.json", "logs-00001-of-00001.jsonl", "order.u32", "done-00001-of-00001.json"])
def test_files_that_hold_anything_are_refused(logs, name):
    for data in (b"", b"[]", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"options": 1}'):
        divide("logs", OUT, PLAIN, 1)
        convert_shard(OUT, Shard(1, 1), PLAIN)
        (SHARDS / name).write_bytes(data)
        if not name.startswith("logs"):  # which a merge needs no more
            with pytest.raises(UsageError):
                merge(OUT)
        if name.startswith("done"):
            assert not convert_shard(OUT, Shard(1, 1), PLAIN).is_known
        elif not name.startswith("order"):
            with pytest.raises(UsageError):
                convert_shard(OUT, Shard(1, 1), Options(anonymize=False, full=True))


WRONG = ("\ud800", None, "x", -1, 1 << 70, [], {"a": "b"})


def changes(value, at=0):
    """Copies of an object, each with one member anywhere in it that is something else."""
    for key, member in value.items() if isinstance(value, dict) else ():
        at += 1
        yield {**value, key: WRONG[at % len(WRONG)]}
        yield from ({**value, key: other} for other in changes(member, at))


@pytest.mark.parametrize("name", ["listing.json", "done-00001-of-00001.json"])
def test_a_member_that_is_something_else_is_an_answer_in_words(logs, name):
    divide("logs", OUT, PLAIN, 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    shutil.copytree(OUT, "whole")
    for value in changes(json.loads((SHARDS / name).read_text())):
        for command in (lambda: convert_shard(OUT, Shard(1, 1), PLAIN).overview(), lambda: merge(OUT)):
            shutil.rmtree(OUT)
            shutil.copytree("whole", OUT)
            (SHARDS / name).write_text(json.dumps(value))
            with suppress(ChatsquashError):
                command()


@pytest.mark.parametrize("name", ["../../../secret", "/etc/passwd", "part-x", "a/b"])
def test_a_marker_names_no_file_elsewhere(logs, name):
    divide("logs", OUT, PLAIN, 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    held = json.loads(marker(1, 1).read_text())
    marker(1, 1).write_text(json.dumps({**held, "part": {"name": name, "size": 4}}))
    with pytest.raises(UsageError, match=r"done-00001-of-00001.json: not a valid marker; convert the shard again"):
        merge(OUT)
    assert not convert_shard(OUT, Shard(1, 1), PLAIN).is_known


def test_no_link_is_followed(logs, tmp_path):
    divide("logs", OUT, PLAIN, 1)
    target = tmp_path / "target"
    target.mkdir()
    SHARDS.rename(tmp_path / "away")
    SHARDS.symlink_to(target)
    with pytest.raises((UsageError, OSError)):
        convert_shard(OUT, Shard(1, 1), PLAIN)
    assert not list(target.iterdir())
    SHARDS.unlink()
    (tmp_path / "away").rename(SHARDS)
    secret = tmp_path / "secret"
    secret.write_text("mine")
    marker(1, 1).symlink_to(secret)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    assert secret.read_text() == "mine"
    merge(OUT)


def test_a_full_disk_names_the_folder_and_leaves_nothing(command, logs, monkeypatch):
    command("shards", "logs", "-n", "1", "--no-anonymize")
    before = tree(SHARDS)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("chatsquash.core.platform.sync", full)
        code, _, err = command("convert", "--shard", "1/1")
    told = "No space left on device; shard 1/1 was not saved; run the same command again"
    assert (code, err) == (1, f"error: out/.chatsquash/shards: {told}\n")
    assert tree(SHARDS) == before


# What is left


def test_a_merge_removes_what_shards_left_and_a_later_run_converts_anew(logs):
    convert("logs", OUT, PLAIN)
    divide("logs", OUT, PLAIN, 2)
    all_shards(2)
    merge(OUT)
    assert sorted(path.name for path in (OUT / ".chatsquash").iterdir()) == ["lock", "state.json", "written.json"]
    assert convert("logs", OUT, PLAIN).reused == 0


def test_a_log_that_changed_since_it_was_listed_is_told(logs):
    divide("logs", OUT, PLAIN, 1)
    with Path("logs/1.jsonl").open("a") as file:
        file.write(json.dumps(log_line("later", at=9)) + "\n")
    Path("logs/2.jsonl").unlink()
    convert_shard(OUT, Shard(1, 1), PLAIN)
    merge(OUT)
    found = [json.loads(line) for line in (OUT / "reports" / "findings.jsonl").read_text().splitlines()]
    told = {(each["file"], each["code"]) for each in found}
    assert {("logs/1.jsonl", "changed-log"), ("logs/2.jsonl", "unreadable-log")} <= told


def test_the_sum_of_records_is_that_of_a_local_run_before_any_merge(logs):
    convert("logs", "local", PLAIN)
    divide("logs", OUT, PLAIN, 4)
    all_shards(4)
    held = [json.loads(marker(number, 4).read_text())["records_made"] for number in range(1, 5)]
    total = sum(int(each["xxh3_128_sum"], 16) for each in held) % (1 << 128)
    made = json.loads(Path("local/run.json").read_text())["records_made"]
    assert (sum(each["count"] for each in held), f"{total:032x}") == (made["count"], made["xxh3_128_sum"])


def test_many_logs_are_divided_in_bounded_memory(here):
    sizes = division.array("Q", range(100_000))
    shards = division._spread(sizes, 64)
    loads = [0] * 64
    for size, shard in zip(sizes, shards, strict=True):
        loads[shard] += size
    assert max(loads) - min(loads) <= 100_000


def test_a_listing_is_read_by_the_same_code_only(logs, monkeypatch):
    divide("logs", OUT, PLAIN, 1)
    monkeypatch.setattr(listings, "code_digest", lambda: "other")
    with pytest.raises(UsageError, match=r"written by another build of chatsquash .*; use that build, or re"):
        convert_shard(OUT, Shard(1, 1), PLAIN)


def test_shards_are_named_so_that_their_files_stand_in_order():
    names = [Shard(number, 100).marker for number in (2, 10, 100)]
    assert names == sorted(names)
    assert place.parse_shard("3/64") == Shard(3, 64)


def test_the_same_listing_made_again_keeps_what_was_converted(logs):
    divide("logs", OUT, PLAIN, 2)
    convert_shard(OUT, Shard(1, 2), PLAIN)
    before = tree(SHARDS)
    divide("logs", OUT, PLAIN, 2)
    assert tree(SHARDS) == before
    assert convert_shard(OUT, Shard(1, 2), PLAIN).is_known
    divide("logs", OUT, Options(anonymize=False, preset="hf"), 2)
    assert not marker(1, 2).exists()


# What a reviewer broke


def test_a_machine_that_sees_no_log_leaves_no_marker_and_a_later_attempt_reads_those_that_it_did_not(logs):
    divide("logs", OUT, PLAIN, 1)
    Path("logs").rename("gone")
    with pytest.raises(
        ChatsquashError, match=r"^shard 1: none of its logs can be read, for example logs/\d.jsonl; check that"
    ):
        convert_shard(OUT, Shard(1, 1), PLAIN)
    assert not marker(1, 1).exists()
    convert_shard(OUT, Shard(1, 1), Options(anonymize=False, full=True))
    assert marker(1, 1).exists()
    Path("gone").rename("logs")
    Path("logs/2.jsonl").rename("2.jsonl")
    convert_shard(OUT, Shard(1, 1), PLAIN)
    Path("2.jsonl").rename("logs/2.jsonl")
    assert not convert_shard(OUT, Shard(1, 1), PLAIN).is_known
    assert convert_shard(OUT, Shard(1, 1), PLAIN).is_known
    merge(OUT)
    convert("logs", "local", PLAIN)
    assert written(OUT) == written(Path("local"))


def test_a_result_that_is_newer_than_the_listing_is_not_replaced(logs):
    write_log(logs / "others" / "a.jsonl")
    divide("logs", OUT, PLAIN, 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    convert("others", OUT, PLAIN)
    before = (OUT / "run.json").read_bytes()
    with pytest.raises(
        UsageError, match=r"^out: the result in this folder is newer than the listing; regenerate the listing"
    ):
        merge(OUT)
    assert (OUT / "run.json").read_bytes() == before


def test_a_merge_that_was_killed_behind_its_end_is_done_again(logs, monkeypatch):
    divide("logs", OUT, PLAIN, 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    with monkeypatch.context() as patched:
        patched.setattr(place.FolderPlace, "clear", lambda _: None)
        merge(OUT)
    merge(OUT)
    assert not SHARDS.exists()
    with pytest.raises(
        UsageError, match=r"^out: no listing in this folder, or its shards were already merged; create one with"
    ):
        merge(OUT)


def test_lines_that_could_not_be_read_are_held_to_their_hashes(logs):
    write_log(logs / "logs" / "bad.jsonl", b"{broken", b"{broken too")
    options = Options(anonymize=False, keep_rejected=True)
    divide("logs", OUT, options, 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    path = next(SHARDS.glob("rejected-*"))
    path.write_bytes(spoiled(path.read_bytes(), 10))
    with pytest.raises(UsageError, match="was changed since it was written; convert the shard again with --full"):
        merge(OUT)
    assert not (OUT / "run.json").exists()


def test_what_a_killed_shard_left_goes_with_the_next_one_on_its_host(logs):
    divide("logs", OUT, PLAIN, 2)
    left = SHARDS / f"tmp-{2**22 - 3}-{place._host()}-{'0' * 16}"
    elsewhere = SHARDS / f"tmp-{2**22 - 3}-{'0' * 16}-{'0' * 16}"
    for each in (left, elsewhere):
        each.mkdir()
        (each / "part").write_bytes(b"half")
    convert_shard(OUT, Shard(1, 2), PLAIN)
    assert not left.exists()
    assert elsewhere.exists()


def test_a_shard_whose_listing_goes_while_it_runs_says_so(logs, monkeypatch):
    divide("logs", OUT, PLAIN, 1)
    add = parts.PartWriter.add

    def gone(self, *told):
        add(self, *told)
        shutil.rmtree(SHARDS)

    monkeypatch.setattr(parts.PartWriter, "add", gone)
    with pytest.raises(UsageError, match=r"^shard 1/1: the listing was merged or regenerated in the meantime"):
        convert_shard(OUT, Shard(1, 1), PLAIN)


@cases(
    "lie",
    ("no shards", {"shards": 0}),
    ("more than there may be", {"shards": 10**8}),
    ("a limit", {"options": {"limit": 1}}),
)
def test_a_listing_that_lies_is_refused(logs, lie):
    divide("logs", OUT, PLAIN, 1)
    listing = json.loads((SHARDS / "listing.json").read_text())
    (SHARDS / "listing.json").write_text(json.dumps({**listing, **lie}))
    for run in (lambda: merge(OUT), lambda: convert_shard(OUT, Shard(1, 1), PLAIN)):
        with pytest.raises(UsageError, match=r"listing.json: not a valid listing; regenerate it"):
            run()


def with_file(name: str, data: bytes) -> None:
    """Another file of a listing, whose hash the listing has."""
    (SHARDS / name).write_bytes(data)
    listing = json.loads((SHARDS / "listing.json").read_text())
    listing["digests"][name] = xxh3_128_hexdigest(data)
    (SHARDS / "listing.json").write_text(json.dumps(listing))


def test_files_of_a_listing_that_lie_are_refused(logs):
    divide("logs", OUT, PLAIN, 1)
    rows = (SHARDS / Shard(1, 1).logs).read_text()
    for old, new in (('"number":0', '"number":-1'), ("logs/0.jsonl", "logs/0\\u0000"), ('"size":', '"size":-')):
        with_file(Shard(1, 1).logs, rows.replace(old, new, 1).encode())
        with pytest.raises(UsageError, match="was changed since it was written; regenerate the listing"):
            convert_shard(OUT, Shard(1, 1), PLAIN)
    with_file(Shard(1, 1).logs, rows.encode())
    with_file("order.u32", (7).to_bytes(4, "little") * 6)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    with pytest.raises(UsageError, match=r"order.u32: was changed since it was written; regenerate the listing"):
        merge(OUT)


@pytest.mark.parametrize("name", ["listing.json", "order.u32"])
def test_a_link_in_the_place_of_a_file_of_a_listing_is_named(logs, name):
    divide("logs", OUT, PLAIN, 1)
    convert_shard(OUT, Shard(1, 1), PLAIN)
    (SHARDS / name).rename("away")
    (SHARDS / name).symlink_to(Path("away").absolute())
    with pytest.raises(UsageError, match=f"{name}: "):
        merge(OUT)


SAMPLES = Path(__file__).parents[2] / "sample_logs"
GOLDEN_LOGS = sorted((Path(__file__).parents[1] / "golden").glob("*/*/logs"))


def shards_give_what_one_run_gives(options: dict[str, Any], roots: list[Path]) -> None:
    chosen = Options(**options, anonymize_key=KEY if options.get("anonymize", True) else None)
    convert(roots, "local", chosen)
    divide(roots, OUT, chosen, 3)
    all_shards(3, chosen)
    merge(OUT)
    assert written(OUT) == written(Path("local"))


@pytest.mark.parametrize("number", range(len(OPTIONS)), ids=lambda number: repr(OPTIONS[number]))
def test_samples_and_golden_logs_give_what_one_run_gives(here, number):
    """The samples under all options, each golden log under one set of them."""
    shards_give_what_one_run_gives(OPTIONS[number], [SAMPLES, *GOLDEN_LOGS[number :: len(OPTIONS)]])


@pytest.mark.long
@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_all_golden_logs_give_what_one_run_gives(here, options):
    shards_give_what_one_run_gives(options, [SAMPLES, *GOLDEN_LOGS])


def test_an_output_that_looks_like_an_option_is_spelled_as_a_path():
    assert place.command_argument("-x") == "./-x"
    assert place.command_argument("a b") == "'a b'"
