"""What the scripts that read a trainer's dataset share: the model's tokenizer, and writing down what is trained on."""

import sys

from sitecustomize import note, runs


def words():
    """The words behind a command that have the form ``key=value``, as a dictionary."""
    return dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word and not word.startswith("-"))


def note_rows(rows):
    """Write down rows of tokens, each with whether it is trained on."""
    note([runs(tokens, trained) for tokens, trained in rows])
