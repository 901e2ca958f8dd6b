"""Logs that make many small shards, and what one run on this machine makes of them."""

from __future__ import annotations

import shutil

import pytest

from tests.conversion.test_shards_law import written
from tests.ray import clusters
from tests.simulator import play

SESSIONS, COPIES = 60, 6
OPTIONS = ("--conversations", "all", "--trace-replies", "--drop-duplicates")


def pytest_collection_modifyitems(items):
    """What Ray leaves open, it closes itself later."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def given(tmp_path_factory):
    """A folder with logs and a key, and the files of a local run."""
    here = tmp_path_factory.mktemp("given")
    for number in range(SESSIONS):
        for name, data in play(number).files.items():
            for copy in range(COPIES):
                path = here / "logs" / f"2026-01-{number % 7 + 10}" / f"{number}-{copy}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    (here / "key").write_text(clusters.KEY)
    done = clusters.ran(here / "logs", "-o", here / "local", "--anonymize-key-file", here / "key", *OPTIONS)
    assert done.returncode in (0, 3), done.stderr
    yield here, written(here / "local")
    shutil.rmtree(here)
