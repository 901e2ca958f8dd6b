"""Rows with labels train with TRL's KTO trainer as they are: each completion keeps its label."""

import json
from pathlib import Path

import pytest
from datasets import load_dataset
from trl import KTOConfig, KTOTrainer

from chatsquash import Options, convert

from .model import model, texts, tokenizer

ROOT = Path(__file__).parents[3]
COMPLAINT = {"role": "user", "content": "It still fails with the same error."}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The labelled replies of the sample logs, and one that the user complained about."""
    folder = tmp_path_factory.mktemp("labels")
    first = [{"role": "user", "content": "Mend the test."}]
    reply = {"role": "assistant", "content": "It is mended now."}
    lines = [
        {"timestamp": "2026-01-13T10:00:00Z", "request": {"messages": messages}, "response": {"choices": [{"message": said}]}}
        for messages, said in ((first, reply), ([*first, reply, COMPLAINT], {"role": "assistant", "content": "I see."}))
    ]  # fmt: skip
    (folder / "complaint.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = {"preset": "hf", "samples": "reply", "sample_shape": "kto", "conversations": "all"}
    convert([ROOT / "sample_logs", folder], folder / "out", Options(format="parquet", anonymize=False, **options))
    return load_dataset(str(folder / "out"), split="train")


def test_each_completion_keeps_its_label(rows, tmp_path):
    known = tokenizer(texts(rows))
    arguments = KTOConfig(
        output_dir=str(tmp_path / "trained"),
        per_device_train_batch_size=2,
        max_steps=2,
        max_length=None,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
    )
    folder = str(tmp_path / "model")
    model(len(known)).save_pretrained(folder)  # the trainer loads its reference model from the same folder
    trainer = KTOTrainer(model=folder, args=arguments, train_dataset=rows, processing_class=known)
    wanted = [(each["completion"][0]["content"], each["label"]) for each in rows]
    assert {label for _, label in wanted} == {True, False}
    assert (wanted[-1][1], rows[-1]["evidence"]) == (False, "last_user complaint: still fails")
    prepared = trainer.train_dataset
    assert [each["label"] for each in prepared] == [label for _, label in wanted]
    for (content, _), each in zip(wanted, prepared, strict=True):
        assert content in known.decode(each["completion_ids"])
        assert content not in known.decode(each["prompt_ids"])
    trainer.train()
    assert trainer.state.global_step == 2
