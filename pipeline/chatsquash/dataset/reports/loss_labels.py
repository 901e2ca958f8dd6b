"""The report of ``--loss-labels``: the outcome of each row, and the number of rows by outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatsquash.core.options import Options
from chatsquash.dataset.claim import LABELS

if TYPE_CHECKING:
    from chatsquash.dataset.label_outcomes import LossLabels

FILES = (LABELS,)
WHOLE, PLACES = True, False


def report(options: Options) -> LossLabels | None:
    """Return the report if there are labels."""
    if options.loss_labels is None:
        return None
    from chatsquash.core.labels import unpack  # rarely needed
    from chatsquash.dataset.label_outcomes import LossLabels

    return LossLabels(unpack(options.loss_labels).rows)
