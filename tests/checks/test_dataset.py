from chatsquash.checks import dataset

ROWS = [
    (dataset.filtered("--min-turns", "the assistant has 1 turn"), "filtered", "info", "--min-turns: the assistant has"),
    (dataset.filtered("--only-model", "the model is \x1b"), "filtered", "info", "the model is \\x1b"),
    (dataset.duplicate_record("a\n.jsonl"), "duplicate-record", "info", "identical to the record of a\\n.jsonl, which is written"),
    (
        dataset.divided_session("continues", "a\n.jsonl"),
        "divided-session",
        "warning",
        "continues a\\n.jsonl: --sessions-by chain joins both",
    ),
    (dataset.split_leak("validation", "train", "a\n.jsonl"), "split-leak", "warning", "in validation, but begins like a\\n.jsonl in train"),
    (dataset.source_without_tools("goose", 1_200), "source-without-tools", "info", "1,200 records of goose without tools because its files have no definitions"),
    (
        dataset.split_share("validation", 0.05, 10, 691, (240, "train", "a\n.jsonl")),
        "split-share",
        "warning",
        "1.45% instead of 5.00%; the largest group has 240 records in 'train' (first log: a\\n.jsonl): try",
    ),
    (dataset.grouped_by_chain(), "grouped-by-chain", "info", "grouped by --sessions-by chain"),
    (dataset.loss_not_read("weight", ["LLaMA-Factory"]), "loss-not-read", "warning", "LLaMA-Factory does not read 'weight'"),
    (dataset.loss_not_read("loss", ["TRL", "axolotl", "Oumi"]), "loss-not-read", "warning", "TRL, axolotl and Oumi do"),
    (dataset.trace_incomplete("1 part\n"), "trace-incomplete", "warning", "missing in the trace of the record: 1 part\\n"),
    (dataset.empty_split("test", 1_200), "empty-split", "warning", "the split 'test' has none of the 1,200 records"),
]  # fmt: skip


def test_findings_on_a_dataset_say_what_is_wrong():
    for fact, code, severity, part in ROWS:
        assert (fact.code, fact.severity) == (code, severity)
        assert part in fact.text
        assert fact.text.isprintable()
