"""verifiers reads the traces of ``flatten --to verifiers``: each branch is the context of a reply, with its token ids.

The environment of ``make conformance`` has verifiers 0.4.0 (``verifiers.v1.WireTrace``, as prime-rl loads traces).
``PRIME_RL_SOURCE=CHECKOUT make conformance`` also runs ``scripts/export_sft.py`` from a checkout of
PrimeIntellect-ai/prime-rl; commit 559b4477 makes a sample of each branch.
"""

import json
import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.dataset.test_forest import ROOT
from tests.dataset.test_forest_traces import exported, path, sampled, texts

PYTHON = Path(os.environ.get("VERIFIERS", ROOT / ".venv" / "verifiers" / "bin" / "python"))
CHECKOUT = os.environ.get("PRIME_RL_SOURCE")
SCRIPT = Path(__file__).with_name("peers") / "traces.py"

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="verifiers is not installed")


def branches(folder):
    """The branches that verifiers sees, per trace."""
    done = subprocess.run(
        [PYTHON, SCRIPT, folder / "train" / "traces.jsonl"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def leaves(trace):
    """The paths to the nodes that no other node follows."""
    parents = {node["parent"] for node in trace["nodes"]}
    return [path(trace, number) for number in range(len(trace["nodes"])) if number not in parents]


def test_branches_are_the_paths_of_the_forest(tmp_path):
    _, found = exported(ROOT / "sample_logs", tmp_path)
    theirs = branches(tmp_path / "traces")
    assert len(theirs) == len(found)
    for trace, seen in zip(found, theirs, strict=True):
        ours = leaves(trace)
        assert [texts(each["messages"]) for each in seen] == [texts(node["message"] for node in each) for each in ours]
        assert [each["sampled"] for each in seen] == [[node["sampled"] for node in each] for each in ours]
    assert any(len(each) > 1 for each in theirs)


def test_token_ids_of_branches_are_those_that_were_logged(tmp_path):
    client = sampled(tmp_path)
    (seen,) = branches(tmp_path / "v")
    for branch, logged in zip(seen, client.server.sampled, strict=True):
        assert branch["ids"] == logged.prompt + logged.ids
        assert branch["mask"] == [False] * len(logged.prompt) + [True] * len(logged.ids)
        assert branch["logprobs"] == [0.0] * len(logged.prompt) + list(logged.logprobs)


@pytest.mark.skipif(not CHECKOUT, reason="PRIME_RL_SOURCE names no checkout of PrimeIntellect-ai/prime-rl")
def test_prime_rl_makes_a_sample_of_each_branch(tmp_path):
    _, found = exported(ROOT / "sample_logs", tmp_path)
    script = Path(CHECKOUT) / "scripts" / "export_sft.py"
    command = [PYTHON, script, tmp_path / "traces" / "train", "-o", tmp_path / "sft"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(tmp_path / "sft" / "train.parquet").to_dicts()
    ours = [texts(node["message"] for node in each) for trace in found for each in leaves(trace)]
    assert [texts(each["messages"]) for each in rows] == ours
