"""A log in a store is read in ranges, ahead, and is to its readers what a file is."""

import io
import itertools
import random

import pytest

from chatsquash.sources import remote
from chatsquash.sources.remote import StoredLog
from chatsquash.storage.stores import StoredBytes

DATA = random.Random(1).randbytes(300_000)


class Fake:
    def __init__(self, data=DATA):
        self.data, self.asked = data, []

    def get(self, key, start, size, tag):
        self.asked.append((start, size))
        return StoredBytes(self.data[start : start + size], len(self.data), 7, '"7"')


@pytest.fixture
def store(monkeypatch):
    for name, size in {"FIRST": 10_000, "_STEP": 20_000, "_SEEK_SIZE": 1_000}.items():
        monkeypatch.setattr(remote, name, size)
    fake = Fake()
    monkeypatch.setattr(remote, "locate", lambda path: (fake, path))
    return fake


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_read_is_what_a_file_gives(store, seed):
    chance = random.Random(seed)
    store.data = DATA[: chance.choice([0, 1, 10_000, 10_001, 150_000, 300_000])]
    with StoredLog("s3://b/x") as log:
        file = io.BytesIO(store.data)
        for _ in range(60):
            size, place = chance.choice([1, 700, 9_000, 70_000]), chance.randrange(len(DATA) + 10)
            act = chance.randrange(5)
            if act == 0:
                assert log.seek(place) == file.seek(place)
            elif act == 1:
                assert log.seek(0, io.SEEK_END) == file.seek(0, io.SEEK_END)
            elif act == 2:
                assert log.read_at(size, place) == store.data[place : place + size]
            else:
                assert log.read(size) == file.read(size)
            assert log.tell() == file.tell()


def test_a_log_that_is_read_on_is_asked_for_once_and_ahead(store):
    with StoredLog("s3://b/x") as log:
        assert log.read(5) == DATA[:5]
        while log.read(7_000):
            pass
    starts = sorted(store.asked)
    assert starts[0] == (0, 10_000)
    assert all(start + size == after for (start, size), (after, _) in itertools.pairwise(starts))
    assert sum(size for _, size in starts) == len(DATA)


def test_at_another_place_only_what_is_needed_is_asked_for(store):
    with StoredLog("s3://b/x") as log:
        log.seek(200_000)
        log.read(100)
        log.seek(100_000)
        log.read(5_000)
    assert store.asked == [(0, 10_000), (200_000, 1_000), (100_000, 5_000)]


def test_a_small_log_is_one_request(store):
    store.data = DATA[:9_000]
    with StoredLog("s3://b/x") as log:
        assert log.read() == DATA[:9_000]
    assert store.asked == [(0, 10_000)]


def test_a_store_that_gives_less_than_there_is_is_an_error(store, monkeypatch):
    with StoredLog("s3://b/x") as log:
        store.data = DATA[:50_000]
        log.seek(40_000)
        with pytest.raises(OSError, match="returned less data than requested"):
            log.read(30_000)
