"""Write the outcomes of sessions as a dataset: filters, duplicates, splits, the output folder, the card and reports.

Sessions are converted in ``session``. Logs are read, and conversions are run, in ``conversion``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatsquash.dataset.store import Output


def output_in(place: Path | str, *, force: bool) -> Output:
    """Open the output at a path or at the URL of a folder in a store.

    Raises:
        UsageError: If it cannot be used, as for ``Output``.
    """
    if isinstance(place, Path):
        from chatsquash.dataset.store import Output  # not needed to only read datasets

        return Output(place, force=force)
    from chatsquash.dataset.remote import StoredOutput  # not needed for a local folder

    return StoredOutput(place, force=force)
