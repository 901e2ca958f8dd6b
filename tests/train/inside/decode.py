"""Prints the texts of trained tokens as JSON: ``decode.py MODEL TOKENS``, a list of texts for each line of tokens."""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer


def main(model, tokens):
    """Decode each run by itself, special tokens as they are."""
    known = Tokenizer.from_file(f"{model}/tokenizer.json")
    rows = [json.loads(line) for line in Path(tokens).read_text(encoding="utf-8").splitlines()]
    print(json.dumps([[known.decode(run, skip_special_tokens=False) for run in row] for row in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
