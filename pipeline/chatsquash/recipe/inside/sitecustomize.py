"""Write down the rows that a trainer trains on, with the tokens that have loss.

The folder of this module is on ``PYTHONPATH`` of a trainer's command, so that it is imported in each of its processes.
It does not import chatsquash, which need not be installed there. Rows are appended as JSON lines to the file
``SQUASH_ROWS``. Unless ``SQUASH_TRAINS`` is set, the model has one layer and no weights, and the trainer stops after it
has made its batches once. ``SQUASH_LIMIT`` is the number of rows that ``datasets`` loads of each split.
"""

import importlib.abc
import importlib.machinery
import json
import math
import os
import sys
from itertools import compress, islice


def note(rows):
    """Append rows of tokens, each with whether there is loss on it, to the file."""
    with open(os.environ["SQUASH_ROWS"], "a", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"ids": ids, "trained": [bool(each) for each in trained]}) + "\n" for ids, trained in rows
        )


def labelled_rows(inputs):
    """Yield the tokens of each row of a batch, with whether there is loss on them, without padding."""
    ids = inputs["input_ids"].tolist()
    if "completion_mask" in inputs:
        losses = inputs["completion_mask"].tolist()
    else:
        losses = [[label != -100 for label in row] for row in inputs["labels"].tolist()]
    masks = inputs.get("attention_mask")
    is_padded = masks is not None and masks.dim() == 2
    masks = masks.tolist() if is_padded else [[1] * len(row) for row in ids]
    for row_ids, row_losses, mask in zip(ids, losses, masks, strict=True):
        yield list(compress(row_ids, mask)), list(compress(row_losses, mask))


def first_epoch(arguments, batches):
    """Return the number of batches of the first epoch if the training ends within it; otherwise ``None``."""
    if arguments.max_steps > 0:
        return arguments.max_steps * arguments.gradient_accumulation_steps
    return math.ceil(arguments.num_train_epochs * len(batches)) if arguments.num_train_epochs < 1 else None


def watch_trainer(module):
    """Let the trainer note its batches: before each step, or once instead of training."""
    trainer = module.Trainer
    step = trainer.training_step

    def noted_step(self, model, inputs, *more, **others):
        if not isinstance(inputs, list):  # prompts, whose completions are sampled within the step
            note(labelled_rows(inputs))
        return step(self, model, inputs, *more, **others)

    def note_batches(self, *more, **others):
        batches = self.get_train_dataloader()
        for inputs in islice(batches, first_epoch(self.args, batches)):
            note(labelled_rows(inputs))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # no model is saved

    if os.environ.get("SQUASH_TRAINS"):
        trainer.training_step = noted_step
    else:
        trainer.train = note_batches


def shrink_models(module):
    """Let models have one layer and no weights, since only their configuration decides what is trained on."""
    if os.environ.get("SQUASH_TRAINS"):
        return

    def from_pretrained(cls, name, *more, config=None, **others):
        from transformers import AutoConfig

        config = config if hasattr(config, "to_dict") else AutoConfig.from_pretrained(name)
        for each in {id(part): part for part in (config, config.get_text_config())}.values():
            each.num_hidden_layers = 1
            if getattr(each, "layer_types", None):
                each.layer_types = each.layer_types[:1]
        return cls._from_config(config)

    module.PreTrainedModel.from_pretrained = classmethod(from_pretrained)


def limit_rows(module):
    """Let ``load_dataset`` return only the first rows of each split."""
    limit, load = int(os.environ.get("SQUASH_LIMIT") or 0), module.load_dataset

    def first(rows):
        return rows.select(range(min(limit, len(rows))))

    def load_first(*more, **others):
        rows = load(*more, **others)
        if not isinstance(rows, dict):
            return first(rows)
        return type(rows)({name: first(split) for name, split in rows.items()})

    if limit:
        module.load_dataset = load_first


WATCHED = {
    "transformers.trainer": watch_trainer,
    "transformers.modeling_utils": shrink_models,
    "datasets.load": limit_rows,
}


class Finder(importlib.abc.MetaPathFinder):
    """Finds the watched modules as the other finders do, and changes them after they were imported."""

    def find_spec(self, name, path, target=None):
        """Return the spec of a watched module."""
        if name not in WATCHED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            WATCHED[name](module)

        spec.loader.exec_module = execute_and_change
        return spec


if os.environ.get("SQUASH_ROWS"):
    sys.meta_path.insert(0, Finder())
