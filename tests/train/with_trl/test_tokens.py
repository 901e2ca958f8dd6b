"""Samples of token ids train as they are: TRL reads the columns, and the loss is on the sampled ids only.

TRL 1.16.0, ``trainer/sft_trainer.py``, ``_prepare_dataset``: a dataset with ``input_ids`` is not tokenized again; a column
``labels`` is used as it is; without it, labels are those where ``completion_mask`` is 1, but only with
``completion_only_loss=True``.
"""

import pytest
from datasets import load_dataset
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

from chatsquash import Options, convert
from tests.tokens.client import Client, call, user
from tests.tokens.server import END, PAD, Server, train

from .model import model

STEPS = 12


@pytest.fixture(scope="module")
def tokenizer():
    return train()


@pytest.fixture(scope="module", params=["parquet", "jsonl"])
def dataset(request, tokenizer, tmp_path_factory):
    """A session with two drifts, which is three samples."""
    client = Client(Server(tokenizer, "spaced"))
    client.ask(user("Which test fails?"), text=call('{"path":"tests/test_sum.py"}'))
    client.ask(client.result(), text="test_sum fails", splits=(2,))
    client.ask(user("Fix it, please."), text="Read the file first.")
    client.ask(user("Now run the tests again."), text="The tests pass now.")
    folder = tmp_path_factory.mktemp("tokens")
    options = Options(samples="tokens", preset="hf", format=request.param, anonymize=False)
    convert(client.write(folder / "logs"), folder / "out", options)
    return load_dataset(str(folder / "out"), split="train")


def trainer(dataset, tokenizer, folder, **options):
    processing = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=PAD)
    arguments = SFTConfig(
        output_dir=str(folder / "trained"),
        max_steps=STEPS,
        per_device_train_batch_size=2,
        learning_rate=5e-3,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        seed=0,
        **options,
    )
    known = model(tokenizer.get_vocab_size())
    return SFTTrainer(model=known, args=arguments, train_dataset=dataset, processing_class=processing)


def labels(row):
    return [token if counts else -100 for token, counts in zip(row["input_ids"], row["completion_mask"], strict=True)]


def of_batches(known):
    """The ids and labels that reach the model, without padding."""
    rows = []
    for batch in known.get_train_dataloader():
        for ids, own, mask in zip(batch["input_ids"], batch["labels"], batch["attention_mask"], strict=True):
            size = int(mask.sum())
            rows.append((ids[:size].tolist(), own[:size].tolist()))
    return sorted(rows)


@pytest.mark.parametrize("options", [{}, {"completion_only_loss": True}, {"completion_only_loss": False}], ids=str)
def test_the_labels_are_the_sampled_ids_with_any_setting(dataset, tokenizer, tmp_path, options):
    assert len(dataset) == 3
    expected = sorted((row["input_ids"], labels(row)) for row in dataset)
    assert of_batches(trainer(dataset, tokenizer, tmp_path, **options)) == expected


def test_the_mask_alone_gives_the_same_labels_with_loss_on_completions(dataset, tokenizer, tmp_path):
    masked = dataset.remove_columns(["labels"])
    expected = sorted((row["input_ids"], labels(row)) for row in dataset)
    assert of_batches(trainer(masked, tokenizer, tmp_path, completion_only_loss=True)) == expected
    assert of_batches(trainer(masked, tokenizer, tmp_path)) != expected  # which is why there is a column of labels


def test_the_loss_falls(dataset, tokenizer, tmp_path):
    known = trainer(dataset, tokenizer, tmp_path)
    known.train()
    losses = [float(each["loss"]) for each in known.state.log_history if "loss" in each]
    print(f"\nloss over {STEPS} steps: {losses[0]:.2f} -> {losses[-1]:.2f}")
    assert losses[-1] < losses[0] * 0.8
