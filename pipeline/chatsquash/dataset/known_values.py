"""The list of the values that a run found, for ``--redact-known`` of the next: hashes, for their owner alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from chatsquash.redact import lists


def write(path: str, hashes: Iterable[str]) -> None:
    """Write the list, which appears whole, in the place of one that is there; raises ``OSError``."""
    from tempfile import NamedTemporaryFile  # which takes long to import

    file = Path(path).absolute()
    # A temporary file is its owner's alone from the start.
    with NamedTemporaryFile(dir=file.parent, prefix=f"{file.name}.", delete=False) as beside:
        try:
            beside.write(lists.hash_list(hashes))
            beside.flush()
            os.fsync(beside.fileno())
            Path(beside.name).replace(file)
        except BaseException:
            Path(beside.name).unlink(missing_ok=True)
            raise
