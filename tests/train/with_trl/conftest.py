"""What the training tests need: no network, and the sample logs as a dataset folder."""

import os
from pathlib import Path

import pytest

for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ[name] = "1"

from chatsquash import Options, convert  # noqa: E402 - what others look for comes first

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The sample logs with preset ``hf`` in Parquet."""
    path = tmp_path_factory.mktemp("dataset")
    options = Options(preset="hf", format="parquet", anonymize=False)
    convert(ROOT / "sample_logs", path / "out", options)
    return path / "out"


@pytest.fixture(autouse=True)
def _caches_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
