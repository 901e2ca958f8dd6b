"""A dataset folder with a model beside it, and the environment of a trainer in miniature."""

import json
import os
import sys
from pathlib import Path

import pytest

from chatsquash import Options, convert
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import log_line, write_log
from tests.recipe.trainer import make_model

FILE = "data/train-00000-of-00001.jsonl"
FILES = ["harbour.py", "tides.txt", "łódź.md", "日記.txt", "notes", "crew list.csv"]
ROOT = Path(__file__).parents[2]
TRL = '''#!{python}
"""Stands for TRL's command: the settings are those of ``trainer.json``."""
import sys

sys.path[:0] = {paths}
import json
import os
from pathlib import Path
from types import SimpleNamespace

from datasets import load_dataset
from transformers.modeling_utils import PreTrainedModel
from transformers.trainer import Batch, Trainer

from chatsquash.templates.counting import Tokenizer
from tests.recipe import trainer

assert PreTrainedModel.from_pretrained.__func__.__name__ == "from_pretrained"
words = sys.argv[1:]
settings = json.loads(Path("trainer.json").read_text())
if settings.pop("fails", None):
    sys.exit("ValueError: no such template")
if rows := settings.pop("writes", None):
    Path(os.environ["SQUASH_ROWS"]).write_text(rows + "\\n")
    sys.exit(0)
arguments = {{"max_steps": -1, "num_train_epochs": 3, "gradient_accumulation_steps": 1, **settings.pop("arguments", {{}})}}
lines = load_dataset(words[len(words) - 1 - words[::-1].index("--dataset_name") + 1])  # the last one counts
model = Path(words[words.index("--model_name_or_path") + 1])
tokenizer = Tokenizer((model / "tokenizer.json").read_bytes())
made = trainer.Trainer(list(lines), tokenizer)
rows = made.rows(trainer.Settings(**settings))
made.close()
Trainer([Batch(*row) for row in rows], SimpleNamespace(**arguments)).train()
'''
PACKAGES = {
    "transformers/__init__.py": "",
    "transformers/modeling_utils.py": '''
class PreTrainedModel:
    """Only has what is replaced."""
''',
    "transformers/trainer.py": '''
class Tensor(list):
    def tolist(self): return list(self)
    def dim(self): return 2

class Batch(dict):
    """A batch of one row, with padding at its end."""
    def __init__(self, ids, trained):
        labels = [token if has_loss else -100 for token, has_loss in zip(ids, trained)]
        super().__init__(input_ids=Tensor([[*ids, 0, 0]]), labels=Tensor([[*labels, -100, -100]]),
                         attention_mask=Tensor([[*[1] * len(ids), 0, 0]]))

class Trainer:
    def __init__(self, batches, args): self.batches, self.args = batches, args
    def get_train_dataloader(self): return self.batches
    def training_step(self, model, inputs): raise AssertionError("nothing is trained")
    def train(self): raise AssertionError("nothing is trained")
''',
    "datasets/__init__.py": "from datasets.load import load_dataset\n",
    "datasets/load.py": """
from pathlib import Path

class Rows(list):
    def select(self, numbers): return Rows(self[number] for number in numbers)

def load_dataset(folder):
    return Rows(line for file in sorted(Path(folder).glob("data/train-*")) for line in file.read_bytes().splitlines())
""",
}


def thoughtful(text, thought, *calls):
    """A reply with a thought."""
    return {**assistant(text, *calls), "reasoning_content": thought}


def session(number):
    """A session with calls and thoughts, whose texts occur in no other."""
    file = FILES[number]
    look = call("c1", "grep", json.dumps({"word": f"lights {number}", "path": file}))
    asked = [user(f"Where are the lights {number} mentioned?"), thoughtful("", f"I look into {file}.", look)]
    found = [*asked, result(f"{file}: line {number + 4}"), thoughtful(f"In line {number + 4} of {file}.", "One match.")]
    more = [*found, user(f"Write a summary of {file} without calls, please.")]
    return [
        log_line(more[0], reply=more[1], tools=[tool()]),
        log_line(*more[:3], reply=more[3], tools=[tool()]),
        log_line(*more, reply=thoughtful(f"The file {file} tells of harbours and lights.", "Short."), tools=[tool()]),
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A dataset folder, a model, and the environment of a trainer."""
    folder = tmp_path_factory.mktemp("recipe")
    for number in range(len(FILES)):
        write_log(folder / f"logs/{number}.jsonl", *({**line, "session_id": f"s{number}"} for line in session(number)))
    model = folder / "model"
    convert(folder / "logs", folder / "out", Options(trainer=f"trl={model}", preset="hf", format="jsonl"))
    make_model(model, (folder / "out" / FILE).read_bytes().splitlines())
    for name, text in PACKAGES.items():
        path = folder / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    paths = [str(folder / "lib"), str(ROOT), str(ROOT / "pipeline")]
    commands = {
        "python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
        "trl": TRL.format(python=sys.executable, paths=paths),
    }
    for name, text in commands.items():
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.chmod(path, 0o755)
    return folder
