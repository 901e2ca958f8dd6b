"""Builds the dataset of a configuration as NeMo Automodel does, and notes what is trained on; its labels are shifted."""

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
note_rows(
    (row["labels"], [label != -100 for label in row["labels"]]) for row in map(dataset.__getitem__, range(len(dataset)))
)
