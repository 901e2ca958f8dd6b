"""Builds the dataset of a configuration as torchtune's recipes do, and notes what is trained on."""

import json
import sys
from pathlib import Path

from notes import note_rows
from omegaconf import OmegaConf
from torchtune import config

settings = OmegaConf.load(sys.argv[-1])
folder = Path(settings.tokenizer.path).parent
known = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in known["model"]["merges"]]
(folder / "vocab.json").write_text(json.dumps(known["model"]["vocab"]), encoding="utf-8")
(folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
tokenizer = config.instantiate(settings.tokenizer)
dataset = config.instantiate(settings.dataset, tokenizer)
note_rows(
    (row["tokens"], [label != -100 for label in row["labels"]]) for row in map(dataset.__getitem__, range(len(dataset)))
)
