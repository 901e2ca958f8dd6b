"""What prune removes, and that it never removes what is needed."""

import json
import time

import pytest

from chatsquash.archive import pruning
from chatsquash.archive.pruning import prune
from chatsquash.archive.verification import verify
from chatsquash.core.errors import UsageError
from chatsquash.storage.archive import repository
from chatsquash.storage.archive.repository import open_archive
from tests.archive.cases import damage, poll, restored, text, write_logs

DAY = 86_400


class Clock:
    """The time in seconds that archives see."""

    def __init__(self):
        self.now = int(time.time())

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in ("archive.copying", "archive.pruning", "storage.archive.repository"):
        monkeypatch.setattr(f"chatsquash.{module}.now", clock)
    return clock


@pytest.fixture
def logs(tmp_path):
    return write_logs(tmp_path / "logs", 6, 200_000)


def pruned(store, days, **options):
    archive = open_archive(str(store))
    try:
        report = prune(archive, days * DAY, **options)
        assert verify(archive).problems == []
    finally:
        archive.index.close()
    return report


def size(store):
    return sum(path.stat().st_size for path in store.rglob("*") if path.is_file())


def test_files_deleted_long_ago_are_removed_and_their_space_is_freed_a_day_later(tmp_path, logs, clock):
    store = tmp_path / "store"
    poll(store, logs)
    before = size(store)
    for seed in range(4):
        (logs / f"{seed}.jsonl").unlink()
    clock.now += 10 * DAY
    poll(store, logs)
    assert pruned(store, 30).files == 0
    clock.now += 40 * DAY
    first = pruned(store, 30)
    assert (first.files, first.snapshots, first.packs) == (4, 1, 0)
    assert first.waiting_bytes > 0
    assert {path.rpartition("/")[2] for path in restored(store, tmp_path / "one")} == {"4.jsonl", "5.jsonl"}
    assert pruned(store, 30).freed_bytes == 0
    clock.now += DAY + 1
    assert pruned(store, 30).freed_bytes > before / 2
    assert size(store) < before / 2
    assert {path.rpartition("/")[2] for path in restored(store, tmp_path / "two")} == {"4.jsonl", "5.jsonl"}
    assert poll(store, logs).new_bytes == 0


def test_files_that_exist_stay_however_old_they_are(tmp_path, logs, clock):
    poll(tmp_path / "store", logs)
    before = restored(tmp_path / "store", tmp_path / "one")
    clock.now += 1000 * DAY
    pruned(tmp_path / "store", 1, waiting=0)
    assert restored(tmp_path / "store", tmp_path / "two") == before


def test_old_versions_are_removed_at_once_if_nobody_else_uses_the_archive(tmp_path, logs, clock):
    store = tmp_path / "store"
    poll(store, logs)
    for seed in range(6):
        (logs / f"{seed}.jsonl").write_bytes(text(100 + seed, 200_000))
    clock.now += 10 * DAY
    poll(store, logs)
    report = pruned(store, 5, waiting=0)
    assert (report.snapshots, report.waiting_bytes) == (1, 0)
    assert report.freed_bytes > 100_000
    assert restored(store, tmp_path / "out") == {str(path): path.read_bytes() for path in logs.iterdir()}


def marked(store, logs, clock):
    """Mark the packs of contents that come back afterwards; return these by path."""
    old = {path: path.read_bytes() for path in logs.iterdir()}
    poll(store, logs)
    for path in old:
        path.write_bytes(text(hash(path.name) % 1000 + 1000, 200_000))
    clock.now += 10 * DAY
    poll(store, logs)
    pruned(store, 5)
    for path, data in old.items():
        path.write_bytes(data)
    return old


def test_what_a_run_between_the_steps_uses_again_stays(tmp_path, logs, clock, monkeypatch):
    """The other machine read the list of packs before they were marked."""
    store = tmp_path / "store"
    old = marked(store, logs, clock)
    with monkeypatch.context() as patch:
        patch.setattr(repository.Archive, "marks", lambda _: {})
        assert poll(store, logs).new_bytes < 10_000
    clock.now += 10 * DAY
    pruned(store, 5)
    assert restored(store, tmp_path / "out") == {str(path): data for path, data in old.items()}


def test_what_is_marked_is_copied_again(tmp_path, logs, clock):
    store = tmp_path / "store"
    old = marked(store, logs, clock)
    assert poll(store, logs).new_bytes > 1_000_000
    clock.now += 10 * DAY
    pruned(store, 5)
    assert restored(store, tmp_path / "out") == {str(path): data for path, data in old.items()}


def test_many_small_packs_are_joined(tmp_path, logs, clock):
    store = tmp_path / "store"
    path = logs / "0.jsonl"
    for count in range(30):
        with path.open("ab") as file:
            file.write(text(count, 5_000))
        poll(store, logs)
    clock.now += DAY
    pruned(store, 100, waiting=0)
    packs = [each for each in (store / "packs").rglob("*/*") if each.is_file()]
    assert len(packs) <= 2
    assert restored(store, tmp_path / "out")[str(path)] == path.read_bytes()


def test_a_pack_that_joining_does_not_change_stays(tmp_path, logs, clock, monkeypatch):
    monkeypatch.setattr(pruning, "_MANY", 1)
    store = tmp_path / "store"
    poll(store, logs)
    before = restored(store, tmp_path / "before")
    pruned(store, 100, waiting=0)
    assert restored(store, tmp_path / "after") == before


@pytest.mark.parametrize("is_known", [True, False], ids=["verified here", "verified on another machine"])
def test_a_chunk_that_was_stored_again_stays_although_a_pack_has_it_damaged(
    tmp_path, logs, clock, monkeypatch, cache, is_known
):
    monkeypatch.setattr("chatsquash.storage.archive.blocks.SIZE", 50_000)
    monkeypatch.setattr(pruning, "_SMALL", 100_000)
    monkeypatch.setattr(pruning, "_MANY", 1)
    store = tmp_path / "store"
    poll(store, logs)
    before = restored(store, tmp_path / "before")
    (pack,) = (store / "packs").rglob("*/*")
    damage(pack, 30)
    archive = open_archive(str(store))
    assert verify(archive).problems
    archive.index.close()
    poll(store, logs)
    if not is_known:
        for each in cache.rglob("*.sqlite*"):
            each.unlink()
    clock.now += DAY
    archive = open_archive(str(store))
    prune(archive, 100 * DAY, waiting=0)
    archive.index.close()
    assert pack.exists()
    assert restored(store, tmp_path / "after") == before


def test_only_one_run_prunes_at_a_time(tmp_path, logs, clock):
    poll(tmp_path / "store", logs)
    archive = open_archive(str(tmp_path / "store"))
    with pruning._lock(archive), pytest.raises(UsageError, match="is being pruned by another process"):
        prune(archive, DAY)
    lock = tmp_path / "store" / "locks" / "prune"
    lock.parent.mkdir(exist_ok=True)
    lock.write_text(json.dumps({"owner": "process 1 on another", "time": clock.now - DAY}))
    prune(archive, DAY)
    archive.index.close()
    assert not lock.exists()


@pytest.mark.parametrize("period", ["90", "0d", "-1d", "d", "1x", "9999999d"])
def test_a_period_needs_a_unit(command, period):
    ended = command("archive", "prune", "store", "--older", period)
    assert (ended.code, "is not a period; write a number and a unit" in ended.err) == (2, True)


def test_small_copies_are_compressed_with_a_dictionary_that_stays_while_it_is_in_use(tmp_path, logs, clock):
    store = tmp_path / "store"
    (logs / "large.jsonl").write_bytes(text(7, 2_000_000))
    poll(store, logs)
    before = size(store)
    for count in range(5):
        (logs / f"new-{count}.jsonl").write_bytes(text(7, 2_010_000)[-6_000:] + b"%d" % count)
        poll(store, logs)
        clock.now += 1
    archive = open_archive(str(store))
    (used,) = archive.index.dictionaries()
    archive.index.close()
    assert size(store) - before < 5 * 2_500
    (logs / "large.jsonl").unlink()
    poll(store, logs)
    clock.now += 10 * DAY
    poll(store, logs)
    pruned(store, 5, waiting=0)
    pruned(store, 5, waiting=0)
    stored = restored(store, tmp_path / "out")
    assert stored == {str(path): path.read_bytes() for path in logs.iterdir()}
    archive = open_archive(str(store))
    assert archive.index.place(used) or not archive.index.dictionaries()
    archive.index.close()


def test_packs_are_not_rewritten_with_a_dictionary_that_is_about_to_be_removed(tmp_path, logs, clock):
    store = tmp_path / "store"
    large = tmp_path / "large"
    large.mkdir()
    (large / "large.jsonl").write_bytes(text(7, 2_000_000))
    poll(store, large)  # nothing but this has a dictionary, and nothing uses it
    (large / "large.jsonl").unlink()
    for path in logs.iterdir():
        path.write_bytes(path.read_bytes()[:3_000])
    (logs / "gone.jsonl").write_bytes(text(8, 300_000))
    poll(store, logs)
    (logs / "gone.jsonl").unlink()
    for _ in range(2):
        clock.now += 10 * DAY
        poll(store, logs)
        poll(store, large)
    pruned(store, 5, waiting=0)
    assert restored(store, tmp_path / "out") == {str(path): path.read_bytes() for path in logs.iterdir()}
