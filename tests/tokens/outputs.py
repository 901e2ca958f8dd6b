"""Convert the logs of a client, and compare samples with what its server sampled."""

import json
from typing import Any, NamedTuple

import polars as pl

from chatsquash import Options, convert


class Output(NamedTuple):
    """The samples of a run and its counts."""

    rows: list[dict[str, Any]]
    counts: dict[str, Any]
    report: str

    @property
    def breaks(self):
        return self.counts["token_samples"]["breaks"]


def samples(client, folder, **options) -> Output:
    """Convert the log of a client to samples of token ids."""
    given = {"samples": "tokens", "preset": "hf", "conversations": "all", "anonymize": False, **options}
    logs = client.write(folder / "logs")
    out = folder / f"out{len(list(folder.iterdir()))}"
    summary = convert(logs, out, Options(**given))
    rows = []
    for file in sorted(out.glob("data/train-*")):
        rows += (
            pl.read_parquet(file).to_dicts()
            if file.suffix == ".parquet"
            else map(json.loads, file.read_bytes().splitlines())
        )
    report = out / "reports" / "integrity-report.txt"
    return Output(rows, summary.counts(), report.read_text() if report.exists() else "")


def trained_spans(row):
    """The runs of trained ids in a row, each with the ids before it and the log probabilities."""
    spans, start = [], None
    for at, counts in enumerate([*row["completion_mask"], 0]):
        if counts and start is None:
            start = at
        elif not counts and start is not None:
            spans.append((row["input_ids"][:start], row["input_ids"][start:at], start, at))
            start = None
    return spans


def key(prompt, ids):
    return tuple(prompt), tuple(ids)


def assert_exact(rows, sampled):
    """Each trained run of ids is a logged reply after its logged prompt, each of these exactly once."""
    spans = [span for row in rows for span in trained_spans(row)]
    assert sorted(key(prompt, ids) for prompt, ids, _, _ in spans) == sorted(
        key(each.prompt, each.ids) for each in sampled
    )
    for row in rows:
        assert len(row["input_ids"]) == len(row["completion_mask"]) == len(row["labels"])
        pairs = zip(row["input_ids"], row["completion_mask"], strict=True)
        assert row["labels"] == [each if counts else -100 for each, counts in pairs]
        assert row["completion_mask"][-1] == 1
        if row["logprobs"] is not None:
            pairs = zip(row["logprobs"], row["completion_mask"], strict=True)
            assert all((number == 0.0) != bool(counts) for number, counts in pairs)
