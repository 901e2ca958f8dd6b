"""Read the words of a command, and write down rows, in scripts that build the dataset of a trainer."""

import os
import sys
from itertools import islice

from sitecustomize import note


def words():
    """Return the words of the command that have the form ``key=value``, as a dictionary."""
    return dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word and not word.startswith("-"))


def note_rows(rows):
    """Write down rows of tokens, each with whether there is loss on it."""
    limit = int(os.environ.get("SQUASH_LIMIT") or 0)
    note((list(tokens), trained) for tokens, trained in islice(rows, limit or None))
