"""A cluster that loses nodes, or its head, gives what one machine gives."""

from __future__ import annotations

import random
import shutil
import time

import pytest

from tests.conversion.test_shards_law import written
from tests.ray import clusters
from tests.ray.conftest import OPTIONS

SHARDS = 40
INSTANTS = 10


@pytest.fixture(scope="module")
def cluster():
    cluster = clusters.cluster()
    yield cluster
    cluster.shutdown()


def options(here, out, address):
    return (here / "logs", "-o", out, "--engine", "ray", "--address", address, "--anonymize-key-file", here / "key")


def test_two_nodes_give_what_one_machine_gives(cluster, given, tmp_path):
    here, local = given
    done = clusters.ran(*options(here, tmp_path / "out", cluster.address), *OPTIONS)
    assert done.returncode in (0, 3), done.stderr
    assert written(tmp_path / "out") == local


@pytest.mark.parametrize("seed", range(INSTANTS))
def test_a_node_that_dies_changes_nothing(cluster, given, tmp_path, seed):
    here, local = given
    draw = random.Random(seed)
    other = next(iter(cluster.worker_nodes)) if cluster.worker_nodes else clusters.node(cluster)
    run = clusters.started(*options(here, tmp_path / "out", cluster.address), *OPTIONS)
    clusters.wait_for(draw.randrange(SHARDS * 3 // 4), tmp_path / "out", run)
    time.sleep(draw.random() / 10)
    assert run.poll() is None, "it was over before the node died"
    clusters.kill(cluster, other)
    _, told = run.communicate(timeout=120)
    assert run.returncode in (0, 3), told
    assert written(tmp_path / "out") == local
    clusters.node(cluster)
    shutil.rmtree(tmp_path / "out")


def test_a_run_goes_on_where_the_death_of_the_head_ended_it(given, tmp_path):
    here, local = given
    out = tmp_path / "out"
    first = clusters.cluster()
    try:
        run = clusters.started(*options(here, out, first.address), *OPTIONS)
        clusters.wait_for(SHARDS // 3, out, run)
        clusters.kill(first, first.head_node)
        _, told = run.communicate(timeout=120)
    finally:
        first.shutdown()
    assert run.returncode == 1
    assert "Traceback" not in told
    kept = {path: path.stat().st_mtime_ns for path in out.glob(".chatsquash/shards/done-*")}
    assert SHARDS // 3 <= len(kept) < SHARDS
    second = clusters.cluster()
    try:
        done = clusters.ran(*options(here, out, second.address), *OPTIONS, "--no-merge")
        assert done.returncode in (0, 3), done.stderr
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
        done = clusters.ran(*options(here, out, second.address), *OPTIONS)
        assert done.returncode in (0, 3), done.stderr
    finally:
        second.shutdown()
    assert written(out) == local
