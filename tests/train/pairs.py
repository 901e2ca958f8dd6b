"""A preference dataset made by hand, in the form in which TRL's DPO reads one: a config ``pairs`` of a dataset folder."""

import json
from pathlib import Path

CARD = """\
---
configs:
- config_name: pairs
  data_files:
  - split: train
    path: pairs/train-*.jsonl
dataset_info:
- config_name: pairs
  features:
  - name: prompt
    list: json
  - name: chosen
    list: json
  - name: rejected
    list: json
  - name: tools
    list: json
  - name: evidence
    dtype: json
---
"""


def pair(sample: dict, number: int) -> dict:
    """A sample of one reply against another text."""
    rejected = [{"role": "assistant", "content": f"I leave step {number} to you."}]
    evidence = {"class": "rewound", "chosen": f"a.jsonl:{number}", "rejected": f"b.jsonl:{number}"}
    messages = {"prompt": sample["prompt"], "chosen": sample["completion"], "rejected": rejected}
    return {**messages, "tools": sample.get("tools"), "evidence": evidence}


def write_pairs(samples: list[dict], folder: Path) -> list[dict]:
    """Write the pairs into a dataset folder; all that is to be trained on, as records."""
    pairs = [pair(sample, number) for number, sample in enumerate(samples)]
    (folder / "pairs").mkdir(parents=True)
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    lines = "".join(json.dumps(each) + "\n" for each in pairs)
    (folder / "pairs" / "train-00000-of-00001.jsonl").write_text(lines, encoding="utf-8")
    return [{"completion": each[side]} for each in pairs for side in ("chosen", "rejected")]
