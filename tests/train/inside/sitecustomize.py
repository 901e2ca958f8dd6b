"""Writes down the tokens that a trainer's loss is on.

A folder on ``PYTHONPATH`` holds this module, so that it runs in every process of a trainer's command. There it wraps
``transformers.Trainer.training_step``, and appends the runs of trained tokens of each row to the file that the variable
``TRAINED_TOKENS`` names.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
from itertools import groupby

WRAPPED = "transformers.trainer"


def runs(tokens, trained):
    """The runs of neighbouring tokens that are trained on."""
    pairs = zip(tokens, trained, strict=True)
    return [[token for token, _ in group] for counts, group in groupby(pairs, key=lambda pair: bool(pair[1])) if counts]


def trained_rows(inputs):
    """For each row of a batch, its runs of trained tokens."""
    rows = inputs["input_ids"].tolist()
    if "completion_mask" in inputs:
        marked = inputs["completion_mask"].tolist()
    else:
        marked = [[label != -100 for label in row] for row in inputs["labels"].tolist()]
    return [runs(*row) for row in zip(rows, marked, strict=True)]


def note(rows):
    """Append the runs of each row to the file."""
    with open(os.environ["TRAINED_TOKENS"], "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def wrap(module):
    """Let the trainer note each batch before its step."""
    step = module.Trainer.training_step

    def noted(self, model, inputs, *more, **others):
        if not isinstance(inputs, list):  # prompts, whose completions are sampled within the step
            note(trained_rows(inputs))
        return step(self, model, inputs, *more, **others)

    module.Trainer.training_step = noted


class Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that is wrapped, as the other finders do."""

    def find_spec(self, name, path, target=None):
        if name != WRAPPED:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        if found is None or found.loader is None:
            return None
        execute = found.loader.exec_module

        def execute_and_wrap(module):
            execute(module)
            wrap(module)

        found.loader.exec_module = execute_and_wrap
        return found


if os.environ.get("TRAINED_TOKENS"):
    sys.meta_path.insert(0, Finder())
