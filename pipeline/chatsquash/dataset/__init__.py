"""Many outcomes to files: filters, duplicates, splits, the output folder, the card, reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatsquash.dataset.store import Output


def output_in(place: Path | str, *, force: bool) -> Output:
    """The output in a folder, or at the URL of one in a store; raises as ``Output``."""
    if isinstance(place, Path):
        from chatsquash.dataset.store import Output  # which rooms that only read datasets do not need

        return Output(place, force=force)
    from chatsquash.dataset.remote import StoredOutput  # which a folder does not need

    return StoredOutput(place, force=force)
