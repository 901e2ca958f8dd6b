"""The cluster that the command starts for itself: what it gives, what others see of it, and how it ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import log_line, write_log
from tests.conversion.test_shards_law import written
from tests.ray import clusters
from tests.ray.conftest import OPTIONS

LISTENS, ANY_PORT = "0A", re.compile(r"socket:\[(\d+)\]")
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
KILLING = Path(__file__).parent / "killing"


def arguments(here, out, *more):
    return (here / "logs", "-o", out, "--engine", "ray", "--workers", 2, "--anonymize-key-file", here / "key", *more)


def running(group: int) -> list[Path]:
    """The processes of a session, by its leader."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(each.name)) == group:
                found.append(each)
        except OSError:
            continue
    return found


def listening(processes: list[Path]) -> set[str]:
    """The addresses at which processes listen, as the system writes them."""
    own = set()
    for each in processes:
        for descriptor in each.glob("fd/*"):
            try:
                own.update(ANY_PORT.findall(os.readlink(descriptor)))
            except OSError:
                continue
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return {line[1].partition(":")[0] for line in lines if line[3] == LISTENS and line[9] in own}


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not say what listens where")
def test_one_machine_gives_what_a_local_run_gives_and_shows_nobody_the_key(given, tmp_path):
    here, local = given
    out = tmp_path / "out"
    run = clusters.started(*arguments(here, out, *OPTIONS), start_new_session=True)
    clusters.wait_for(10, out, run)
    processes = running(run.pid)
    assert len(processes) > 4
    addresses = listening(processes)
    assert addresses
    assert addresses <= LOOPBACK
    shown = b"".join(read(each / name) for each in processes for name in ("environ", "cmdline"))
    assert b"RAY_AUTH_TOKEN" in shown
    logged = [path for path in Path("/tmp").glob("cs-ray-*/session_2*/**/*") if path.is_file()]
    assert logged
    for text in (shown, *map(read, logged)):
        assert clusters.KEY.encode() not in text
    _, told = run.communicate(timeout=120)
    assert run.returncode in (0, 3), told
    assert written(out) == local
    assert b"".join(read(path) for path in out.rglob("*")).find(clusters.KEY.encode()) == -1
    assert not running(run.pid)


def test_parts_that_stay_sum_up_to_what_a_local_run_has(given, tmp_path):
    here, local = given
    done = clusters.ran(*arguments(here, tmp_path / "out", *OPTIONS, "--no-merge"))
    assert done.returncode in (0, 3), done.stderr
    made = local["run.json"]["records_made"]
    assert ["checksum", made["xxh3_128_sum"]] in [line.split() for line in done.stderr.splitlines()]
    assert clusters.markers(tmp_path / "out") == 40
    assert not (tmp_path / "out" / "run.json").exists()


def some(folder: Path, also: str, *lines: dict[str, Any]) -> None:
    """Few logs, a log more, and a key."""
    for name in "abcdefgh":
        write_log(folder / "logs" / f"{name}.jsonl", log_line(name, session_id=name))
    write_log(folder / "logs" / f"{also}.jsonl", *lines)
    (folder / "key").write_text(clusters.KEY)


def test_a_session_that_kills_its_worker_is_left_out_as_on_one_machine(tmp_path, monkeypatch):
    some(tmp_path, "d-killer", log_line("x"))
    monkeypatch.setenv("PYTHONPATH", str(KILLING))
    done = clusters.ran(*arguments(tmp_path, tmp_path / "out"))
    assert done.returncode == 3, done.stderr
    key = ("--anonymize-key-file", tmp_path / "key")
    assert clusters.ran(tmp_path / "logs", "-o", tmp_path / "local", "--workers", 2, *key).returncode == 3
    assert "by SIGKILL" in (tmp_path / "out/reports/findings.jsonl").read_text()
    assert written(tmp_path / "out") == written(tmp_path / "local")


def test_ctrl_c_ends_tasks_and_keeps_what_is_done(given, tmp_path):
    here, local = given
    out = tmp_path / "out"
    run = clusters.started(*arguments(here, out, *OPTIONS), start_new_session=True)
    clusters.wait_for(5, out, run)
    os.killpg(run.pid, signal.SIGINT)
    _, told = run.communicate(timeout=60)
    assert run.returncode == 130, told
    assert told.strip().startswith("interrupted; finished shards are kept"), told
    assert not running(run.pid)
    names = {path.name.partition("-")[0] for path in out.glob(".chatsquash/shards/*")}
    assert names == {"done", "listing.json", "logs", "order.u32", "part"}
    assert 5 <= clusters.markers(out) < 40
    done = clusters.ran(*arguments(here, out, *OPTIONS))
    assert done.returncode in (0, 3), done.stderr
    assert written(out) == local


@pytest.mark.parametrize("stops", ["--strict", "--on-invalid=abort"])
def test_what_stops_a_run_stops_this_one(tmp_path, stops):
    some(tmp_path, "bad", log_line("x", at="2026-01-13T10:00:00Z"), log_line("x", "y", at="2026-01-13T09:00:00Z"))
    done = clusters.ran(*arguments(tmp_path, tmp_path / "out", stops))
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: stopped by {stops.replace('=', ' ')}; nothing was written: "), done.stderr
    assert not (tmp_path / "out" / "run.json").exists()


def test_nobody_at_an_address_is_an_error(given, tmp_path):
    here, _ = given
    key = ("--anonymize-key-file", here / "key")
    done = clusters.ran(here / "logs", "-o", tmp_path / "out", "--engine", "ray", "--address", "127.0.0.1:9", *key)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --address 127.0.0.1:9: cannot connect to a Ray cluster"), done.stderr
    assert "Traceback" not in done.stderr


def test_a_node_with_other_code_is_refused(given, tmp_path, monkeypatch):
    here, _ = given
    import chatsquash

    shutil.copytree(Path(chatsquash.__file__).parent, tmp_path / "other/chatsquash")
    with open(tmp_path / "other/chatsquash/core/text.py", "a") as file:
        file.write("# other\n")
    cluster = clusters.cluster()
    try:
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
        clusters.node(cluster)
        monkeypatch.delenv("PYTHONPATH")
        key = ("--anonymize-key-file", here / "key")
        done = clusters.ran(
            here / "logs", "-o", tmp_path / "out", "--engine", "ray", "--address", cluster.address, *key
        )
    finally:
        cluster.shutdown()
    assert done.returncode == 1
    assert "runs another build of chatsquash; install the same build on all nodes" in done.stderr
    assert clusters.markers(tmp_path / "out") == 0


def test_a_node_without_chatsquash_is_named(given, tmp_path, monkeypatch):
    here, _ = given
    (tmp_path / "other/chatsquash").mkdir(parents=True)
    (tmp_path / "other/chatsquash/__init__.py").write_text("raise ImportError('is not here')\n")
    cluster = clusters.cluster()
    try:
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
        clusters.node(cluster)
        monkeypatch.delenv("PYTHONPATH")
        key = ("--anonymize-key-file", here / "key")
        done = clusters.ran(
            here / "logs", "-o", tmp_path / "out", "--engine", "ray", "--address", cluster.address, *key
        )
    finally:
        cluster.shutdown()
    assert done.returncode == 1
    assert "chatsquash cannot run on this node (" in done.stderr
    assert "is not here" in done.stderr
    assert "Traceback" not in done.stderr
