"""Damaged, foreign and encrypted archives."""

import os
from random import Random

import pytest

from chatsquash.archive.restoring import restore
from chatsquash.archive.verification import verify
from chatsquash.core.errors import UsageError
from chatsquash.storage.archive.repository import open_archive
from tests.archive.cases import contents, damage, poll, restored, text, write_logs

SECRET = b"a key for tests"


@pytest.fixture
def logs(tmp_path):
    return write_logs(tmp_path / "logs", 3, 40_000)


def verified(store, secret=None):
    archive = open_archive(str(store), secret)
    try:
        return verify(archive)
    finally:
        archive.index.close()


def objects(store):
    return sorted(path for path in store.rglob("*") if path.is_file() and path.name != "config")


@pytest.mark.parametrize("secret", [None, SECRET], ids=["plain", "encrypted"])
def test_an_intact_archive_has_no_problems(tmp_path, logs, secret):
    if secret:
        pytest.importorskip("nacl")
    poll(tmp_path / "store", logs, secret=secret)
    report = verified(tmp_path / "store", secret)
    assert (report.problems, report.files, report.snapshots) == ([], 3, 1)
    assert report.size >= 120_000


@pytest.mark.parametrize("secret", [None, SECRET], ids=["plain", "encrypted"])
def test_every_changed_byte_is_detected(tmp_path, logs, secret, cache):
    if secret:
        pytest.importorskip("nacl")
    poll(tmp_path / "store", logs, secret=secret)
    random = Random(1)
    for path in objects(tmp_path / "store"):
        intact = path.read_bytes()
        for at in [0, len(intact) - 1, *random.sample(range(len(intact)), 20)]:
            changed = bytearray(intact)
            changed[at] ^= 1 << random.randrange(8)
            path.write_bytes(changed)
            for each in cache.rglob("*.sqlite*"):
                each.unlink()
            assert verified(tmp_path / "store", secret).problems, (path, at)
        path.write_bytes(intact)
    assert verified(tmp_path / "store", secret).problems == []


def test_missing_and_truncated_objects_are_detected(tmp_path, logs):
    poll(tmp_path / "store", logs)
    (pack,) = (tmp_path / "store" / "packs").rglob("*/*")
    data = pack.read_bytes()
    pack.write_bytes(data[:-100])
    assert verified(tmp_path / "store").problems
    pack.unlink()
    assert verified(tmp_path / "store").problems


def test_lost_content_is_copied_again_while_its_source_exists(tmp_path, logs, cache):
    before = restored(tmp_path / "store", tmp_path / "one") if poll(tmp_path / "store", logs).files else {}
    (pack,) = (tmp_path / "store" / "packs").rglob("*/*")
    pack.write_bytes(b"damaged" * 1000)
    for each in cache.rglob("*.sqlite*"):
        each.unlink()
    poll(tmp_path / "store", logs)
    assert restored(tmp_path / "store", tmp_path / "two") == before


def test_lost_packs_are_written_again_whatever_ran_in_the_meantime(tmp_path, logs, cache):
    poll(tmp_path / "store", logs)
    (logs / "new.jsonl").write_bytes(b'{"a": 1}\n' * 50)
    poll(tmp_path / "store", logs)
    before = restored(tmp_path / "store", tmp_path / "one")
    packs = sorted((tmp_path / "store" / "packs").rglob("*/*"))
    assert len(packs) == 2
    for number, pack in enumerate(packs):
        data = pack.read_bytes()
        pack.unlink()
        assert verified(tmp_path / "store").problems  # now the index knows of the loss
        poll(tmp_path / "store", logs)
        assert restored(tmp_path / "store", tmp_path / f"two-{number}") == before
        assert poll(tmp_path / "store", logs).snapshot is None
        pack.write_bytes(data)


@pytest.mark.parametrize("size", [10_000, 1 << 20], ids=["many blocks", "one block"])
def test_damaged_chunks_are_written_again_after_verification(tmp_path, monkeypatch, size):
    monkeypatch.setattr("chatsquash.storage.archive.blocks.SIZE", size)
    logs, store = write_logs(tmp_path / "logs", 3, 40_000), tmp_path / "store"
    poll(store, logs)
    before = restored(store, tmp_path / "one")
    (pack,) = (store / "packs").rglob("*/*")
    damage(pack, 30)
    assert len(verified(store).problems) > 1
    assert poll(store, logs).new_bytes > 0
    assert restored(store, tmp_path / "two") == before
    assert poll(store, logs).snapshot is None
    # A copy of a part of the chunks leaves the damaged pack in place.
    packs = [path for path in (store / "packs").rglob("*/*") if path != pack]
    assert [each.reason for each in verified(store).problems] == ["does not match its name"] * bool(packs)


def test_damage_is_forgotten_when_the_pack_is_intact_again(tmp_path, logs):
    store = tmp_path / "store"
    poll(store, logs)
    (pack,) = (store / "packs").rglob("*/*")
    intact = pack.read_bytes()
    damage(pack, 30)
    assert verified(store).problems
    pack.write_bytes(intact)
    assert verified(store).problems == []
    assert poll(store, logs).new_bytes == 0


def test_lost_packs_are_written_again_for_all_sources(tmp_path, logs):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.jsonl").write_bytes(text(9, 40_000))
    store = tmp_path / "store"
    for folder in (logs, other):
        poll(store, folder)
    before = restored(store, tmp_path / "one")
    for pack in (store / "packs").rglob("*/*"):
        pack.unlink()
    for folder in (logs, other):
        poll(store, folder)
    assert verified(store).problems == []
    assert restored(store, tmp_path / "two") == before


def test_the_index_is_restored_from_the_packs(tmp_path, logs, cache):
    poll(tmp_path / "store", logs)
    before = restored(tmp_path / "store", tmp_path / "one")
    for each in cache.rglob("*.sqlite*"):
        each.write_bytes(b"damaged" * 100)
    assert restored(tmp_path / "store", tmp_path / "two") == before
    assert poll(tmp_path / "store", logs).new_bytes == 0


def test_an_index_that_cannot_be_written_is_kept_in_memory(tmp_path, logs, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    poll(tmp_path / "store", logs)
    assert len(restored(tmp_path / "store", tmp_path / "out")) == 3


def test_an_encrypted_archive_contains_nothing_in_clear(tmp_path, logs):
    pytest.importorskip("nacl")
    poll(tmp_path / "store", logs, secret=SECRET)
    assert restored(tmp_path / "store", tmp_path / "out", secret=SECRET)
    stored = b"".join(path.read_bytes() for path in objects(tmp_path / "store"))
    assert b"jsonl" not in stored
    assert b"\x28\xb5\x2f\xfd" not in stored  # no frame of zstd
    assert not os.stat(tmp_path / "store" / "config").st_mode & 0o077


@pytest.mark.parametrize(
    "first, then, message",
    [
        (SECRET, None, "is encrypted; pass its key"),
        (SECRET, b"another key", "this is not its key"),
        (None, SECRET, "is not encrypted"),
    ],
)
def test_the_key_must_be_that_of_the_archive(tmp_path, logs, first, then, message):
    pytest.importorskip("nacl")
    poll(tmp_path / "store", logs, secret=first)
    with pytest.raises(UsageError, match=message):
        open_archive(str(tmp_path / "store"), then)


def test_names_that_lead_outside_the_folder_are_not_restored(tmp_path, logs):
    poll(tmp_path / "store", logs / "0.jsonl", machine="..")
    poll(tmp_path / "store", logs / "1.jsonl", machine="me")
    archive = open_archive(str(tmp_path / "store"))
    report = restore(archive, tmp_path / "out" / "inner")
    archive.index.close()
    assert (report.files, len(report.problems)) == (1, 1)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["inner"]


def test_existing_files_are_only_replaced_on_request(tmp_path, logs, command):
    poll(tmp_path / "store", logs)
    out = str(tmp_path / "out")
    assert command("archive", "restore", str(tmp_path / "store"), "-o", out).code == 0
    again = command("archive", "restore", str(tmp_path / "store"), "-o", out)
    assert (again.code, "exists already (--force replaces it)" in again.err) == (3, True)
    assert command("archive", "restore", str(tmp_path / "store"), "-o", out, "--force").code == 0


@pytest.fixture
def damaged_list(tmp_path, logs):
    """An archive of two folders in which the pack of the newest list of files of one is damaged."""
    other = write_logs(tmp_path / "other", 1, 20_000)
    poll(tmp_path / "store", other)
    poll(tmp_path / "store", logs)
    before = restored(tmp_path / "store", tmp_path / "before")
    known = set(objects(tmp_path / "store"))
    (logs / "new.jsonl").write_bytes(b'{"a": 1}\n')
    poll(tmp_path / "store", logs)
    (pack,) = (path for path in set(objects(tmp_path / "store")) - known if path.parent.parent.name == "packs")
    damage(pack, 40)
    return before


def test_a_damaged_list_of_files_is_replaced_by_the_one_before_it(tmp_path, damaged_list, command):
    store, out = str(tmp_path / "store"), tmp_path / "out"
    restoring = command("archive", "restore", store, "--output", str(out))
    assert (restoring.code, contents(out)) == (3, damaged_list)
    listing = command("archive", "ls", store)
    assert (listing.code, len(listing.out.splitlines())) == (3, 1 + len(damaged_list))
    status = command("archive", "status", "--to", store)
    assert status.code == 3
    for ended in (restoring, listing, status):
        line = ended.err.splitlines()[-1]
        assert line.startswith("snapshots/")
        assert "a block is damaged); the newest intact one before it, 20" in line
        assert line.endswith(" is used instead")


def test_logs_in_a_damaged_archive_are_not_converted_but_the_error_says_how_to_get_them(
    tmp_path, damaged_list, command
):
    ended = command("convert", f"archive:{tmp_path}/store", "-o", str(tmp_path / "out"))
    assert ended.code == 2
    assert f"chatsquash archive restore {tmp_path}/store --output DIR writes the files of the last intact" in ended.err


def test_a_snapshot_without_an_intact_one_before_it_costs_only_its_own_sources(tmp_path, logs, command):
    store, out = tmp_path / "store", tmp_path / "out"
    poll(store, logs / "0.jsonl")
    poll(store, logs / "1.jsonl")
    snapshot = min((store / "snapshots").rglob("*-*"))
    damage(snapshot, 10)
    ended = command("archive", "restore", str(store), "--output", str(out))
    assert (ended.code, len(contents(out))) == (3, 1)
    assert "no earlier snapshot of these sources is intact" in ended.err
    ended = command("archive", "ls", str(store), "--snapshots")
    assert (ended.code, len(ended.out.splitlines())) == (3, 2)
    assert "does not match its name" in ended.err


def test_only_files_with_damaged_chunks_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("chatsquash.storage.archive.blocks.SIZE", 50_000)
    logs, store = write_logs(tmp_path / "logs", 4, 60_000), tmp_path / "store"
    poll(store, logs)
    (pack,) = (store / "packs").rglob("*/*")
    intact = pack.read_bytes()
    for at in (30, len(intact) // 2, len(intact) - 1):
        damage(pack, at)
        archive = open_archive(str(store))
        report = restore(archive, tmp_path / str(at))
        archive.index.close()
        unreadable = {each.path for each in report.problems}
        first, *others = verified(store).problems
        assert first.reason == "does not match its name"
        assert {each.path for each in others} == unreadable
        assert len(unreadable) < 4
        pack.write_bytes(intact)


def test_a_chunk_in_a_second_pack_is_used_if_the_first_one_is_damaged(tmp_path, logs):
    one, two = tmp_path / "store", tmp_path / "other"
    poll(one, logs)
    before = restored(one, tmp_path / "before")
    (logs / "3.jsonl").write_bytes(text(7, 20_000))
    poll(two, logs)
    (pack,) = (one / "packs").rglob("*/*")
    for each in (two / "packs").rglob("*/*"):
        target = one / each.relative_to(two)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(each.read_bytes())
    restored(one, tmp_path / "both")  # now the index knows of both
    damage(pack, 30)
    assert restored(one, tmp_path / "after") == before
    assert [each.path.partition("/")[0] for each in verified(one).problems] == ["packs"]
