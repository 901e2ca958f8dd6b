"""A reward function for ``trl grpo`` that notes the prompts and the columns it receives, as JSON lines."""

import json
import os

OF_TRAINER = ("completion_ids", "trainer_state", "log_extra", "log_metric", "environments")
"""Arguments of the trainer's own, which are no columns of the dataset."""


def noted(prompts, completions, **columns):
    """Note each prompt with its columns; longer completions get a greater reward."""
    rows = {name: values for name, values in columns.items() if name not in OF_TRAINER}
    with open(os.environ["SQUASH_ROWS"], "a", encoding="utf-8") as file:
        for at, prompt in enumerate(prompts):
            row = {"prompt": prompt, **{name: values[at] for name, values in rows.items()}}
            file.write(json.dumps(row) + "\n")
    return [float(len(completion[0]["content"])) for completion in completions]
