"""Prints the texts of trained tokens as JSON: ``decode.py MODEL TOKENS``, a list of texts for each line of tokens."""

import json
import sys
from itertools import groupby
from pathlib import Path

from tokenizers import Tokenizer


def runs(row):
    """The runs of neighbouring tokens that are trained on."""
    pairs = zip(row["ids"], row["trained"], strict=True)
    return [[token for token, _ in group] for counts, group in groupby(pairs, key=lambda pair: pair[1]) if counts]


def main(model, tokens):
    """Decode each run by itself, special tokens as they are."""
    known = Tokenizer.from_file(f"{model}/tokenizer.json")
    rows = [json.loads(line) for line in Path(tokens).read_text(encoding="utf-8").splitlines()]
    print(json.dumps([[known.decode(run, skip_special_tokens=False) for run in runs(row)] for row in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
