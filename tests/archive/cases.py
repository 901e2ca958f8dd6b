"""Archives for tests: copies of folders, and what is restored from them."""

import os
import time
from pathlib import Path
from random import Random

from chatsquash.archive.copying import copy
from chatsquash.archive.restoring import restore
from chatsquash.archive.selection import sources
from chatsquash.storage.archive.repository import open_archive

MACHINE = "me@here"


def poll(store, *folders, agents=(), secret=None, machine=MACHINE):
    """Copy folders into an archive once."""
    archive = open_archive(str(store), secret, is_new=True)
    try:
        return copy(archive, machine, sources(map(str, folders), agents))
    finally:
        archive.index.close()


def restored(store, output, *patterns, secret=None, **options):
    """Restore an archive; return the bytes of its files by their paths."""
    archive = open_archive(str(store), secret)
    try:
        report = restore(archive, Path(output), patterns, **options)
    finally:
        archive.index.close()
    assert not report.problems
    return contents(output)


def contents(folder):
    """The bytes of the files of a restored folder by their absolute paths, of whatever machine."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {"/" + "/".join(path.relative_to(folder).parts[1:]): path.read_bytes() for path in paths}


def old(path, seconds=60):
    """Make a file look as if it had been written some time ago."""
    when = time.time() - seconds
    os.utime(path, (when, when))


def damage(path, at):
    """Change a byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def text(seed, size):
    """Bytes like those of logs."""
    random = Random(seed)
    words = [f"{random.getrandbits(24):x}" for _ in range(400)]
    lines = (" ".join(random.choices(words, k=12)) for _ in range(size // 60))
    return "\n".join(lines).encode()[:size]


def write_logs(folder, count, size):
    """Write a number of logs of a size; return the folder."""
    folder.mkdir()
    for seed in range(count):
        (folder / f"{seed}.jsonl").write_bytes(text(seed, size))
    return folder
