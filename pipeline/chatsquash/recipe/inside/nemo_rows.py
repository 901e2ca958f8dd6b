"""Builds the dataset of a configuration as NeMo Automodel does, and notes its rows; its labels are shifted."""

import sys

import yaml
from nemo_automodel.components.datasets.llm.chat_dataset import ChatDataset
from notes import note_rows
from transformers import AutoTokenizer

with open(sys.argv[-1], encoding="utf-8") as file:
    settings = yaml.safe_load(file)
options = dict(settings["dataset"])
assert options.pop("_target_").endswith(".ChatDataset")
tokenizer = AutoTokenizer.from_pretrained(settings["model"]["pretrained_model_name_or_path"])
dataset = ChatDataset(tokenizer=tokenizer, **options)


def rows():
    """Yield the tokens of each row with whether there is loss on them; a label is that of the next token."""
    for row in map(dataset.__getitem__, range(len(dataset))):
        last = [label for label in row["labels"][-1:] if label != -100]
        trained = [False, *(label != -100 for label in row["labels"])]
        yield [*row["input_ids"], *last], trained[: len(row["input_ids"]) + len(last)]


note_rows(rows())
