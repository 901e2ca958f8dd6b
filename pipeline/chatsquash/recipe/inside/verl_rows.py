"""Reads a dataset as ``verl.trainer.sft_trainer`` does, with the words of its command, and notes what is trained on."""

from pathlib import Path

import verl.trainer
from hydra import compose, initialize_config_dir
from notes import note_rows, words
from transformers import AutoTokenizer
from verl.trainer.sft_trainer import create_sft_dataset

with initialize_config_dir(str(Path(verl.trainer.__file__).parent / "config"), version_base=None):
    config = compose("sft_trainer_engine", overrides=[f"{key}={value}" for key, value in words().items()])
folder = Path(config.model.path)
tokenizer = AutoTokenizer.from_pretrained(folder.resolve() if folder.is_dir() else config.model.path)
dataset = create_sft_dataset(config.data.train_files, config.data, tokenizer, None)
note_rows(
    (row["input_ids"].tolist(), row["loss_mask"].tolist()) for row in map(dataset.__getitem__, range(len(dataset)))
)
