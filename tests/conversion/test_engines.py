"""What runs a conversion, as far as it needs no cluster: what is refused, what a node looks at, how many shards there are."""

from __future__ import annotations

import importlib.util
import os
import socket
from dataclasses import replace

import pytest
from click.testing import CliRunner

from chatsquash import Options
from chatsquash.cli.main import cli
from chatsquash.conversion import engines
from chatsquash.conversion.engines import EngineSettings, _cluster, _node
from chatsquash.conversion.engines import ray as engine
from chatsquash.conversion.shards import listing as listings
from chatsquash.conversion.shards import place_in
from chatsquash.conversion.shards.divide import divide, shards_for
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import ChatsquashError, UsageError
from tests.conftest import KEY, cases, log_line, write_log

GIVEN = Options(anonymize_key=KEY.encode())


@pytest.fixture
def listed(here, monkeypatch):
    """Two shards, and what their tasks would be given."""
    for name in "abc":
        write_log(here / "logs" / f"{name}.jsonl", log_line(name))
    monkeypatch.setattr(_node, "ray_version", lambda: "1")
    divided = divide(here / "logs", here / "out", GIVEN, 2)
    return engine._run(here / "out", divided, GIVEN)


def kept(folder):
    return {path.name for path in folder.glob("out/.chatsquash/shards/done-*")}


@cases(
    "size, count",
    (0, 1),
    (1, 1),
    (500_000_000, 1),
    (500_000_001, 2),
    (10**12, 1000),
    (10**14, 50_000),
    (10**15, 100_000),
)
def test_the_number_of_shards_follows_from_the_bytes(size, count):
    assert shards_for(size) == count


def test_the_engines_are_those_in_the_folder():
    assert engines.names() == ("local", "ray")


IDLE = [
    (["--address", "auto"], "--address auto has no effect with --engine local; remove it"),
    (["--no-merge"], "--no-merge has no effect with --engine local; remove it"),
    (["--engine", "ray", "--resume"], "--resume has no effect with --engine ray, which always continues"),
    (["--engine", "ray", "--address", "a:1", "--workers", "3"], "--workers has no effect with --address a:1"),
    (["--engine", "ray", "--limit", "3"], "--limit cannot be used with shards"),
    (["--engine", "slurm"], "'slurm'"),
]


@pytest.mark.parametrize("args, told", IDLE, ids=[" ".join(args) for args, _ in IDLE])
def test_what_has_no_effect_on_an_engine_is_refused(here, monkeypatch, args, told):
    write_log(here / "logs" / "a.jsonl", log_line("a"))
    monkeypatch.setattr(_cluster, "refuse_missing", lambda: None)
    done = CliRunner().invoke(cli, ["convert", "logs", *args])
    assert done.exit_code
    assert told in done.output + str(done.exception)
    assert not (here / "out").exists()


def test_ray_needs_a_key_that_is_named_where_addresses_are_replaced(here, monkeypatch):
    write_log(here / "logs" / "a.jsonl", log_line("a"))
    monkeypatch.delenv("CHATSQUASH_ANONYMIZE_KEY_FILE")
    done = CliRunner().invoke(cli, ["convert", "logs", "--engine", "ray"])
    assert isinstance(done.exception, UsageError)
    assert "pass the key for all nodes with --anonymize-key-file" in str(done.exception)


def test_ray_that_is_not_installed_is_named_with_its_extra(here, monkeypatch):
    write_log(here / "logs" / "a.jsonl", log_line("a"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(_cluster, "find_spec", lambda _: None)
    done = CliRunner().invoke(cli, ["convert", "logs", "--engine", "ray"])
    assert str(done.exception) == "--engine ray requires the ray package: pip install 'chatsquash[ray]'"


def test_a_client_of_a_cluster_is_no_node_of_it(monkeypatch):
    monkeypatch.setattr(_cluster, "refuse_missing", lambda: None)
    with pytest.raises(UsageError, match="run the command on a node of the cluster"), _cluster.connect("ray://a:1", 1):
        pass


def test_a_node_that_sees_all_writes_its_file(listed):
    answer = _node.check(listed, "node")
    assert answer == f"{listed.token} node"
    assert listed.place.read(listed.trial("node")).decode() == answer


@cases(
    "other, told",
    ("other Ray", {"ray": "2"}, "runs Ray 1, not 2; install the same version on all nodes"),
    ("another version", {"version": "0"}, ", not 0; install the same build on all nodes"),
    ("other code", {"code": "0"}, "runs another build of chatsquash; install the same build on all nodes"),
    ("another listing", {"listing": "0"}, "cannot read the listing in "),
    ("a log that is elsewhere", {"samples": (("gone.jsonl", 3),)}, "gone.jsonl is missing or differs from the log"),
)
def test_a_node_that_does_not_fit_says_why(listed, other, told):
    run = replace(listed, **other)
    host = socket.gethostname()
    for answer in (_node.check(run, "node"), _node.convert(run, 1)):
        assert answer["kind"] == "ChatsquashError"
        assert answer["text"].startswith(f"{host}: ")
        assert told in answer["text"]


def test_an_output_that_a_node_does_not_see_is_told(listed, tmp_path):
    answer = _node.check(replace(listed, out=tmp_path / "elsewhere"), "node")
    assert "requires an OUT that all nodes can access" in answer["text"]


def test_a_node_that_comes_later_needs_some_of_the_logs_only(listed, here):
    (here / "logs" / "a.jsonl").unlink()
    assert _node.check(listed, "node")["kind"] == "ChatsquashError"
    done = [_node.convert(listed, number) for number in (1, 2)]
    assert sum(each["records_made"]["count"] for each in done) == 2


def test_a_task_gives_counts_and_what_was_converted_is_known(listed):
    first, again = _node.convert(listed, 1), _node.convert(listed, 1)
    assert (first["known"], again["known"]) == (False, True)
    assert first["size"] == again["size"] > 0
    assert first["records_made"] == again["records_made"]


def test_an_attempt_that_did_not_end_is_made_in_a_process_of_its_own(listed, monkeypatch):
    converted, beside = _node.convert_shard, []

    def convert_shard(*args, processes):
        beside.append(processes)
        return converted(*args, processes=processes)

    monkeypatch.setattr(_node, "convert_shard", convert_shard)
    _node.convert(listed, 1)
    listed.place.create("begun-2", b"")
    _node.convert(listed, 2)
    assert beside == [None, 1]
    assert not list(listed.out.glob(".chatsquash/shards/begun-*"))


def test_what_goes_wrong_in_a_task_is_plain_data(listed, monkeypatch):
    def fails(problem):
        def convert_shard(*_, **__):
            raise problem

        monkeypatch.setattr(_node, "convert_shard", convert_shard)
        return _node.convert(listed, 1)

    assert fails(UsageError("why")) == {"kind": "UsageError", "text": "why"}
    assert fails(OSError(28, "No space left", "x"))["text"] == f"{socket.gethostname()}: x: No space left"
    assert "out of memory; give tasks more memory" in fails(MemoryError())["text"]
    assert isinstance(engine._error({"kind": "UsageError", "text": "why"}), UsageError)
    assert type(engine._error({"kind": "made up", "text": "why"})) is ChatsquashError


@cases(
    "text, line",
    ("a traceback: its last line", "ray::f() (pid=1)\n  File x\nValueError: why\n", "ValueError: why"),
    ("what Ray says: the first", "A worker died.\nSee the logs.", "A worker died."),
    ("nothing: the class", " ", "OSError"),
    ("what does not print is escaped", "\x1b[2J", "\\x1b[2J"),
)
def test_of_what_ray_says_a_line_is_shown(text, line):
    assert engine._line(OSError(text)) == line


def test_the_key_is_shown_nowhere(listed):
    assert KEY not in repr(listed)
    assert listed.key == KEY.encode()


def test_a_head_that_is_gone_for_long_ends_the_run(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        context = type("Context", (), {"gcs_address": address})
        head = _cluster.Head(type("Ray", (), {"get_runtime_context": context}))
        assert head.is_reachable()
    assert not head.is_reachable()
    monkeypatch.setattr(_cluster, "_PATIENCE", -1.0)
    with pytest.raises(ChatsquashError, match="the head node of the Ray cluster is unreachable"):
        head.is_reachable()


@pytest.mark.parametrize("where", [EngineSettings(), EngineSettings(engine="ray", address="auto", merge=False)])
def test_where_a_run_is_decides_nothing_of_a_listing(here, where):
    assert not {"engine", "address", "merge"} & listings.describe(GIVEN).keys()
    assert {"engine", "address", "merge"} == set(where.__dataclass_fields__)


# What is divided again


def convert_all(folder, count):
    from chatsquash.conversion.shards.convert import convert_shard

    for number in range(1, count + 1):
        convert_shard(folder / "out", Shard(number, count), GIVEN)


SAME = [
    ("the same", lambda _: None, GIVEN, 2, True),
    ("other workers", lambda _: None, replace(GIVEN, workers=7, full=True), 2, True),
    ("another option", lambda _: None, replace(GIVEN, reasoning="drop"), 2, False),
    ("another number", lambda _: None, GIVEN, 3, False),
    ("a time", lambda here: os.utime(here / "logs" / "a.jsonl", ns=(1, 1)), GIVEN, 2, False),
    ("a log more", lambda here: write_log(here / "logs" / "d.jsonl", log_line("d")), GIVEN, 2, False),
    ("a damaged file", lambda here: spoil(here), GIVEN, 2, True),
]


def spoil(here):
    (here / "out/.chatsquash/shards/logs-00001-of-00002.jsonl").write_bytes(b"{}\n")


@pytest.mark.parametrize("what, change, options, count, keeps", SAME, ids=[row[0] for row in SAME])
def test_shards_are_kept_where_the_listing_is_the_same(listed, here, what, change, options, count, keeps):
    convert_all(here, 2)
    before = kept(here)
    change(here)
    divide(here / "logs", here / "out", options, count)
    assert kept(here) == (before if keeps else set())
    place = place_in(here / "out")
    found = listings.read(place)
    assert sum(1 for number in range(count) for _ in listings.jobs(place, found, Shard(number + 1, count)))
    place.close()
