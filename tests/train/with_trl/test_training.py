"""A dataset folder trains as it is: TRL, loss on what the assistant says only, on a CPU."""

import pytest
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

from .model import model, texts, tokenizer

STEPS = 30
RECORDS = 8
"""Few enough to be learned by heart in so many steps."""


@pytest.fixture(scope="module")
def dataset(folder):
    return load_dataset(str(folder), split="train")


def test_the_loss_falls_by_half(dataset, tmp_path):
    known = tokenizer(texts(dataset))
    arguments = SFTConfig(
        output_dir=str(tmp_path / "trained"),
        assistant_only_loss=True,
        max_steps=STEPS,
        per_device_train_batch_size=4,
        learning_rate=5e-3,
        max_length=1024,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        seed=0,
    )
    few = dataset.select(range(RECORDS))
    trainer = SFTTrainer(model=model(len(known)), args=arguments, train_dataset=few, processing_class=known)
    trainer.train()
    losses = [float(each["loss"]) for each in trainer.state.log_history if "loss" in each]
    print(f"\nloss over {STEPS} steps: {losses[0]:.2f} -> {losses[-1]:.2f}")
    assert len(losses) == STEPS
    assert losses[-1] < losses[0] / 2


def test_only_what_the_assistant_says_counts(dataset):
    known = tokenizer(texts(dataset))
    record = next(each for each in dataset if each["tools"] and each["messages"][0]["role"] == "system")
    encoded = known.apply_chat_template(
        record["messages"], tools=record["tools"], return_dict=True, return_assistant_tokens_mask=True
    )
    said = known.decode(
        [token for token, counts in zip(encoded["input_ids"], encoded["assistant_masks"], strict=True) if counts]
    )
    for message in record["messages"]:
        if message["role"] == "assistant":
            assert message["content"] in said
            assert all(call["function"]["name"] in said for call in message.get("tool_calls", []))
        else:
            assert message["content"] not in said
