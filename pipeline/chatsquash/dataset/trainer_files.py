"""The files in ``OUT/trainer``, by trainer. They are run in that folder, so their paths begin with ``../``."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable
from typing import NamedTuple

from chatsquash.dataset import tinker_script

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]+|MODEL|/[A-Za-z0-9_./-]+")
"""Text that needs no quotes in YAML, Hydra and a shell."""


class Training(NamedTuple):
    """The input of a trainer."""

    model: str
    split: str
    files: list[str]
    """The files of the split, as paths relative to the folder of the configuration."""
    is_only: bool
    """Whether this is the only split."""
    format: str
    flag: str
    """The member that marks the messages trained on, or ``none``."""
    last_only: bool
    """Whether only the last reply of a record is trained on."""
    has_pairs: bool
    needs_model: bool
    shape: str = "messages"
    """The shape of samples."""

    @property
    def in_yaml(self) -> str:
        """The model, quoted for YAML."""
        return _quoted(self.model)

    @property
    def in_shell(self) -> str:
        """The model, quoted for a shell."""
        return shlex.quote(self.model)

    def hint(self, what: str = "a name on the Hugging Face Hub, or a folder") -> str:
        """Return a comment that describes the placeholder of the model, or an empty string if the model is known."""
        return f"# Fill in MODEL: {what}.\n" if self.needs_model else ""


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _script(command: str, hint: str = "") -> str:
    """Return a script that runs a command in its folder, and passes on its own arguments."""
    return f'#!/bin/sh\n{hint}cd "$(dirname "$0")" || exit\n{command} "$@"\n'


def _items(paths: Iterable[str], indent: str) -> str:
    return "".join(f"\n{indent}- {path}" for path in paths)


def _trl(training: Training) -> dict[str, str]:
    hint = f"{training.hint()}# Without a GPU, add --use_cpu true.\n"
    first = f'--model_name_or_path {training.in_shell} --dataset_name "$(cd .. && pwd)"'
    split = "" if training.split == "train" else f" --dataset_train_split {training.split}"
    mask = "" if training.last_only else "--assistant_only_loss true "
    method, more = {
        "kto": ("kto", "--max_length 8192"),
        "prompt": ("grpo", "--reward_funcs REWARD"),
    }.get(training.shape, ("sft", f"{mask}--max_length 8192"))
    if training.shape == "prompt":
        hint += "# Fill in REWARD: a function for rewards in a module, as in rewards.solved.\n"
    command = f"exec trl {method} {first}{split} \\\n  --output_dir trained {more}"
    files = {"train.sh": _script(command, hint)}
    if training.has_pairs:
        dpo = f"exec trl dpo {first} --dataset_config pairs{split} \\\n  --output_dir trained-dpo --max_length 8192"
        files["train-dpo.sh"] = _script(dpo, hint)
    return files


def _axolotl(training: Training) -> dict[str, str]:
    mask = "roles_to_train: [assistant]"
    if training.flag != "none":
        mask = f"message_field_training: {training.flag}\n    roles_to_train: []"
    config = f"""\
{training.hint()}base_model: {training.in_yaml}
chat_template: tokenizer_default
datasets:
  - path: ../data
    ds_type: parquet
    data_files:{_items(training.files, "      ")}
    split: train
    type: chat_template
    field_messages: messages
    field_tools: tools
    {mask}
    train_on_eos: turn
sequence_len: 8192
learning_rate: 1.0e-5
output_dir: trained
"""
    return {"axolotl.yaml": config, "train.sh": _script("exec axolotl train axolotl.yaml")}


def _unsloth(training: Training) -> dict[str, str]:
    last = ", last_response_only=True" if training.last_only else ""
    model = json.dumps(training.model, ensure_ascii=False)
    return {
        "train.py": f"""\
{training.hint()}import os
from pathlib import Path

from unsloth import FastLanguageModel  # must be imported before the libraries that it patches
from unsloth.chat_templates import train_on_responses_only

from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

os.chdir(Path(__file__).parent)
model, tokenizer = FastLanguageModel.from_pretrained({model}, max_seq_length=8192)
model = FastLanguageModel.get_peft_model(model)
trainer = SFTTrainer(
    model=model,
    processing_class=tokenizer,
    train_dataset=load_dataset(str(Path("..").resolve()), split="{training.split}"),
    args=SFTConfig(output_dir="trained", max_length=8192),
)
trainer = train_on_responses_only(trainer{last})
trainer.train()
"""
    }


def _ms_swift(training: Training) -> dict[str, str]:
    files = " ".join(training.files)
    command = (
        f"exec swift sft --model {training.in_shell} --dataset {files} \\\n  --output_dir trained --max_length 8192"
    )
    return {"train.sh": _script(command, training.hint())}


def _oumi(training: Training) -> dict[str, str]:
    target = "FINAL_ASSISTANT_TURN" if training.last_only else "ALL_ASSISTANT_TURNS"
    datasets = "".join(f"\n      - dataset_name: text_sft\n        dataset_path: {path}" for path in training.files)
    config = f"""\
{training.hint()}model:
  model_name: {training.in_yaml}
data:
  train:
    collator_name: text_completions_only_with_padding
    train_target: {target}
    datasets:{datasets}
training:
  trainer_type: TRL_SFT
  output_dir: trained
"""
    return {"oumi.yaml": config, "train.sh": _script("exec oumi train -c oumi.yaml")}


def _llama_factory(training: Training) -> dict[str, str]:
    datasets = [training.split]
    if len(training.files) > 1 and not training.is_only:  # the names in dataset_info.json
        datasets = [f"{training.split}_{number}" for number in range(len(training.files))]
    history = "mask_history: true\n" if training.last_only else ""
    config = f"""\
{training.hint()}# Fill in the template: LLaMA-Factory's name for the chat template of the model.
model_name_or_path: {training.in_yaml}
stage: sft
do_train: true
finetuning_type: lora
dataset_dir: ..
dataset: {",".join(datasets)}
template: qwen
{history}cutoff_len: 8192
output_dir: trained
"""
    script = _script("exec llamafactory-cli train llamafactory.yaml")
    return {"llamafactory.yaml": config, "train.sh": script}


def _torchtune(training: Training) -> dict[str, str]:
    files = f" {training.files[0]}" if len(training.files) == 1 else _items(training.files, "    ")
    return {
        "torchtune.yaml": f"""\
{training.hint("a folder with the model")}# Add these sections to the configuration of a recipe (tune ls).
tokenizer:
  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer
  path: {_quoted(f"{training.model}/vocab.json")}
  merges_file: {_quoted(f"{training.model}/merges.txt")}
  max_seq_len: 8192
dataset:
  _component_: torchtune.datasets.chat_dataset
  source: {"parquet" if training.format == "parquet" else "json"}
  data_files:{files}
  conversation_column: messages
  conversation_style: openai
  train_on_input: false
  split: train
"""
    }


_REPLY_DATASET = '''\
import pandas
import torch
from torch.utils.data import Dataset


class ReplyDataset(Dataset):
    """Rows of a prompt and its completion; only the text that the template adds to the prompt is trained on."""

    def __init__(self, parquet_files, tokenizer, config, processor=None, max_samples=-1):
        files = [parquet_files] if isinstance(parquet_files, str) else list(parquet_files)
        self.rows = pandas.concat([pandas.read_parquet(file) for file in files])
        self.tokenizer, self.longest = tokenizer, config.max_length

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows.iloc[index]
        prompt, completion = list(row["prompt"]), list(row["completion"])
        before = self.tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        full = self.tokenizer.apply_chat_template(prompt + completion, tokenize=False)
        if not full.startswith(before):
            raise ValueError(f"row {index}: the template renders the prompt differently before its completion")
        context = self.tokenizer.encode(before, add_special_tokens=False)
        reply = self.tokenizer.encode(full[len(before) :], add_special_tokens=False)
        if len(context) + len(reply) > self.longest:
            raise ValueError(f"row {index}: longer than data.max_length; use --max-tokens")
        tokens = torch.tensor(context + reply)
        return {
            "input_ids": tokens,
            "position_ids": torch.arange(len(tokens)),
            "loss_mask": torch.tensor([0] * len(context) + [1] * len(reply)),
        }
'''


def _verl(training: Training) -> dict[str, str]:
    paths = training.files[0] if len(training.files) == 1 else f"'[{','.join(training.files)}]'"
    model = training.model if _PLAIN.fullmatch(training.model) else f"'{training.model}'"  # as Hydra quotes a value
    rest = "data.messages_key=messages data.truncation=right"
    if training.last_only:
        rest = "data.custom_cls.path=reply_dataset.py data.custom_cls.name=ReplyDataset"
    command = f"""\
exec torchrun --standalone --nproc_per_node=1 -m verl.trainer.sft_trainer \\
  data.train_files={paths} data.max_length=8192 \\
  {rest} \\
  {shlex.quote(f"model.path={model}")} trainer.default_local_dir=trained"""
    files = {"train.sh": _script(command, training.hint())}
    return files | ({"reply_dataset.py": _REPLY_DATASET} if training.last_only else {})


def _nemo(training: Training) -> dict[str, str]:
    paths = training.files[0] if len(training.files) == 1 else f"[{', '.join(training.files)}]"
    return {
        "nemo.yaml": f"""\
{training.hint()}# Fill in TEMPLATE: a chat template file with generation marks, such as TRL's qwen3_training.jinja.
# Add these sections to the configuration of a recipe.
model:
  pretrained_model_name_or_path: {training.in_yaml}
dataset:
  _target_: nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset
  path_or_dataset_id: {paths}
  chat_template: TEMPLATE
"""
    }


def _openai(training: Training) -> dict[str, str]:
    # https://developers.openai.com/api/docs/deprecations, May 7, 2026: self-serve fine-tuning ends.
    upload = """\
curl --fail-with-body https://api.openai.com/v1/files -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -F purpose=fine-tune -F file=@{}"""
    model = json.dumps(training.model, ensure_ascii=False)
    job = f"""\
curl --fail-with-body https://api.openai.com/v1/fine_tuning/jobs -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H "Content-Type: application/json" -d '{{"training_file": "'"$1"'", "model": {model}}}'"""
    return _upload_and_train(training, upload, job, "the id that upload.sh prints")


def _together(training: Training) -> dict[str, str]:
    job = f'together fine-tuning create --training-file "$1" --model {training.in_shell}'
    return _upload_and_train(training, "together files upload {}", job, "the id that upload.sh prints")


def _fireworks(training: Training) -> dict[str, str]:
    job = f'firectl create sftj --base-model {training.in_shell} --dataset "$1" --output-model "$1"-model'
    return _upload_and_train(training, 'firectl create dataset "$1" {}', job, "the name passed to upload.sh")


def _upload_and_train(training: Training, upload: str, job: str, argument: str) -> dict[str, str]:
    """Return a script that uploads the records, joined into one file, and a script that starts the training."""
    # Two scripts, because the service chooses the name of the uploaded file, which the training job needs.
    begin = '#!/bin/sh\n{}cd "$(dirname "$0")" || exit\n'
    file, join = training.files[0], ""
    if len(training.files) > 1:
        file, join = "train.jsonl", f"cat {' '.join(training.files)} > train.jsonl || exit\n"
    hint = f"{training.hint('the name of a model at the service')}# Its argument is {argument}.\n"
    return {
        "upload.sh": f"{begin.format('')}{join}{upload.format(file)}\n",
        "train.sh": f"{begin.format(hint)}{job}\n",
    }


def _tinker(training: Training) -> dict[str, str]:
    model = json.dumps(training.model, ensure_ascii=False)
    hint = training.hint("the name of a model that the service trains")
    return {"train.py": hint + tinker_script.SCRIPT.format(model=model, files=json.dumps(training.files))}


WRITERS: dict[str, Callable[[Training], dict[str, str]]] = {
    "trl": _trl,
    "axolotl": _axolotl,
    "unsloth": _unsloth,
    "ms-swift": _ms_swift,
    "oumi": _oumi,
    "llama-factory": _llama_factory,
    "torchtune": _torchtune,
    "verl": _verl,
    "nemo": _nemo,
    "openai": _openai,
    "together": _together,
    "fireworks": _fireworks,
    "tinker": _tinker,
}
