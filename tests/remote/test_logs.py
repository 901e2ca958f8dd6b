"""Logs in a bucket: which are found, in which order, and what is said of those that cannot be read."""

import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.sources import remote
from chatsquash.sources.find import discover
from tests.conftest import cases, tree, write_log
from tests.formats.hostile import database
from tests.outputs import findings, manifest
from tests.remote.conftest import PAGE
from tests.remote.logs import SAMPLES, comparable, folder, line, log
from tests.session.test_sessions_by import mixed

ONE = Options(workers=1, anonymize=False)


def names(*urls, **options):
    found = discover(list(urls), Options(**options), lambda *_: False)
    return [each.name for each in found.logs]


def test_a_listing_of_several_pages_has_the_order_of_a_folder(s3, here):
    keys = [f"{name}{number}.jsonl" for number in range(60) for name in ("a", "a/", "a-b/")]
    keys += ["a.jsonl", "a/b/c.jsonl", "é/x.jsonl", "Z.jsonl"]
    for key in keys:
        (here / "logs" / key).parent.mkdir(parents=True, exist_ok=True)
        (here / "logs" / key).write_bytes(b"{}")
        s3.put(f"logs/{key}", b"{}")
    assert names(f"{s3.url}/logs") == names("logs")
    asked = [path for method, path, _ in s3.server.requests if method == "GET" and "list-type=2" in path]
    assert len(asked) == -(-len(keys) // PAGE)


@cases(
    "given, options, expected",
    ("/logs/", {}, ["a/x.jsonl", "a/y.jsonl.gz", "b.ndjson"]),
    ("/logs", {"include": ("a",)}, ["a/x.jsonl", "a/y.jsonl.gz"]),
    ("/logs", {"exclude": ("*.gz",)}, ["a/x.jsonl", "b.ndjson"]),
    ("/logs", {"limit": 1}, ["a/x.jsonl"]),
    ("/logs/a/x.jsonl", {}, ["x.jsonl"]),
    ("/logs/a/x.txt", {}, ["x.txt"]),
    ("/logs/*/x.*", {}, ["a/x.jsonl"]),
    ("/logs/**/*.txt", {}, ["a/x.txt"]),
    ("", {"include": ("logs/b.ndjson",)}, ["logs/b.ndjson"]),
)
def test_what_is_a_log_is_told_as_in_a_folder(s3, given, options, expected):
    for key in ("a/x.jsonl", "a/y.jsonl.gz", "a/x.txt", "b.ndjson", ".hidden/x.toml"):
        s3.put(f"logs/{key}", b"{}")
    s3.put("logs/a/", b"")  # as some programs let stand for folders
    assert names(f"{s3.url}{given}", **options) == expected


def test_days_are_told_by_paths_and_by_what_logs_say(s3):
    s3.put("logs/2026-05-05/x.jsonl", log(1))
    s3.put("logs/x.jsonl", log(1))
    chosen = Options(since="2026-01-01", until="2026-01-31", workers=1, anonymize=False)
    assert convert(f"{s3.url}/logs", "out", chosen).sessions == 1
    assert manifest()["inputs"][0]["path"] == f"{s3.url}/logs/x.jsonl"


def test_the_output_and_that_of_earlier_runs_is_not_read(s3):
    s3.put("logs/a.jsonl", log(1))
    convert(f"{s3.url}/logs", f"{s3.url}/logs/out", ONE)
    assert convert(f"{s3.url}/logs", f"{s3.url}/logs/out", ONE).others == {}
    summary = convert(f"{s3.url}/logs", "out", ONE)
    assert (summary.sessions, dict(summary.others)) == (1, {"earlier output": 1})
    with pytest.raises(UsageError, match="is a chatsquash output, not logs"):
        convert(f"{s3.url}/logs/out", "other", ONE)


@pytest.mark.parametrize("out", ["", "/", "/logs", "/logs/"])
def test_logs_that_lie_in_the_output_are_refused(s3, out):
    s3.put("logs/a.jsonl", log(1))
    with pytest.raises(UsageError, match="is in the output, which is never read; choose another with output"):
        convert(f"{s3.url}/logs", f"{s3.url}{out}", ONE)


@pytest.mark.parametrize("key", ["logs//x.jsonl", "logs/../x.jsonl"])
def test_a_key_that_is_no_path_stops_the_run_and_is_named(s3, key):
    s3.put(key, b"{}")
    with pytest.raises(UsageError, match=r"cannot be listed \(a key .*has empty parts, \. or \.\."):
        convert(s3.url, "out", ONE)


@cases(
    "url, said",
    ("s3://no-such-bucket/logs", "no such bucket"),
    ("{}/nothing", "no files found"),
    ("{}/no*", "no match"),
    ("s3://", "no valid bucket"),
    ("S3://bucket/x", "unknown scheme; expected one of az://"),
    ("ftp://host/x", "unknown scheme"),
    ("http://example.com/x.jsonl", "http:// is only supported for this machine"),
)
def test_a_url_that_leads_nowhere_is_said(s3, url, said):
    with pytest.raises(UsageError, match=said):
        convert(url.format(s3.url), "out", ONE)


def test_a_forbidden_listing_stops_the_run(s3):
    s3.server.before = [lambda method, path, _: (403, b"<Error><Code>AccessDenied</Code></Error>")]
    with pytest.raises(UsageError, match=r"cannot be listed \(the store denied access\)"):
        convert(f"{s3.url}/logs", "out", ONE)


def refused(status, code):
    body = f"<Error><Code>{code}</Code></Error>".encode()
    return lambda method, path, _: (status, body) if "bad.jsonl" in path and "list-type" not in path else None


@cases(
    "answer, said",
    (refused(403, "AccessDenied"), "the store denied access"),
    (refused(403, "InvalidObjectState"), "it is archived: restore it first"),
    (refused(404, "NoSuchKey"), "no such object"),
    (refused(301, "PermanentRedirect"), "the bucket is in another region: set AWS_REGION"),
    (refused(400, "AuthorizationHeaderMalformed"), "the bucket is in another region: set AWS_REGION"),
    (refused(403, "SignatureDoesNotMatch"), "the credentials are wrong"),
    (refused(400, "SomethingElse"), "the store returned SomethingElse"),
)
def test_a_log_that_cannot_be_read_is_a_finding(s3, answer, said):
    s3.put("logs/bad.jsonl", log(2))
    s3.put("logs/good.jsonl", log(2))
    s3.server.before = [answer]
    summary = convert(f"{s3.url}/logs", "out", ONE)
    assert (summary.written, dict(summary.left_out)) == (1, {"unreadable-log": 1})
    [found] = findings("unreadable-log")
    assert said in found["text"]


def test_an_archived_object_is_a_finding(s3):
    s3.put("logs/bad.jsonl", log(2), StorageClass="GLACIER")
    s3.put("logs/good.jsonl", log(2))
    assert convert(f"{s3.url}/logs", "out", ONE).written == 1
    assert "it is archived" in findings("unreadable-log")[0]["text"]


def test_a_log_that_vanished_is_a_finding(s3):
    for name in ("a", "b"):
        s3.put(f"logs/{name}.jsonl", log(2, session=name))

    def gone(log, *_):
        return s3.client.delete_object(Bucket=s3.name, Key="logs/b.jsonl")

    assert convert(f"{s3.url}/logs", "out", ONE, gone).written == 1
    assert "no such object" in findings("unreadable-log")[0]["text"]


@cases(
    "later, how, lines",
    (log(5, session="b"), "grew", 3),
    (log(3, session="b") + line(3, session="b")[:-9], "grew", 3),
    (log(1, session="b"), "shrank", 1),
    (log(3, session="B"), "was written to", 3),
)
def test_a_log_that_changed_since_it_was_listed_is_told_by_its_tag(s3, later, how, lines):
    s3.put("logs/a.jsonl", log(2, session="a"))
    s3.put("logs/b.jsonl", log(3, session="b"))
    summary = convert(f"{s3.url}/logs", "out", ONE, lambda log, *_: s3.put("logs/b.jsonl", later))
    [found] = findings("changed-log")
    assert f"the log {how} during the run" in found["text"]
    assert (summary.written, summary.lines) == (2, 2 + lines)


def test_a_log_that_changes_while_it_is_read_is_read_once_more(s3, monkeypatch):
    for name, size in {"FIRST": 16 << 10, "_STEP": 16 << 10}.items():
        monkeypatch.setattr(remote, name, size)
    s3.put("logs/a.jsonl", log(12, 200, "before"))
    after = log(12, 200, "after!")

    def change(method, path, headers):
        if "a.jsonl" in path and headers.get("If-Match") and not done:
            done.append(path)
            s3.put("logs/a.jsonl", after)

    done = []
    s3.server.before = [change]
    convert(f"{s3.url}/logs", "out", ONE)
    assert done
    assert findings("changed-log")
    record = Path("out/2026-01-02.jsonl").read_text()
    assert "after!" in record
    assert "before" not in record


def test_a_run_after_another_reads_only_what_changed(s3):
    folder(samples=SAMPLES / "ollama")
    s3.fill("logs", "logs")
    before = convert(f"{s3.url}/logs", "out", ONE)
    assert convert(f"{s3.url}/logs", "out", ONE).unchanged
    s3.put("logs/a/small.jsonl", log(3, session="small"))
    after = convert(f"{s3.url}/logs", "out", ONE)
    assert (after.sessions, after.reused) == (before.sessions, before.sessions - 1)


def test_workers_read_stores_that_each_opens_itself(s3, monkeypatch):
    from chatsquash.conversion import workers

    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    for number in range(6):
        s3.put(f"logs/{number}.jsonl", log(3, session=str(number)))
    assert convert(f"{s3.url}/logs", "one", ONE).written == 6
    assert convert(f"{s3.url}/logs", "two", Options(workers=2, anonymize=False)).written == 6
    assert Path("one/2026-01-02.jsonl").read_bytes() == Path("two/2026-01-02.jsonl").read_bytes()


# What agents keep in several files, and in databases, is read in a store as in a folder


GOLDEN = Path(__file__).parents[1] / "golden"
ALL = Options(workers=1, anonymize=False, conversations="all")


def is_as_local(s3, options=ALL):
    convert("logs", "out", options)
    s3.fill("logs", "logs")
    convert(f"{s3.url}/logs", "remote", options)
    assert comparable(tree(Path("remote")), f"{s3.url}/logs") == comparable(tree(Path("out")))


@cases(
    "case",
    "claude_code/a_sub_agent_in_a_folder_of_its_session",
    "claude_code/a_sub_agent_that_main_leaves_out",
    "claude_code/a_sub_agent_in_a_file_of_its_own",
    "openhands/events_in_files_of_their_own",
)
@pytest.mark.parametrize("folder", ["logs", "logs/a [b] *c"])
def test_files_that_lie_beside_each_other_are_found(s3, here, case, folder):
    shutil.copytree(GOLDEN / case / "logs", here / folder)
    is_as_local(s3)


def test_a_database_is_read(s3, here):
    (here / "logs").mkdir()
    database(here / "logs/x.db", rows=3)
    is_as_local(s3)


def test_a_database_with_a_log_of_changes_beside_it_is_read(s3, here):
    (here / "logs").mkdir()
    database(here / "logs/x.db")
    (here / "logs/x.db-wal").write_bytes(b"x")
    is_as_local(s3)


def test_a_log_that_mixes_sessions_is_grouped_by_id_as_in_a_folder(s3, here):
    write_log(here / "logs/day.jsonl", *mixed("abab"))
    s3.put("logs/day.jsonl", (here / "logs/day.jsonl").read_bytes())
    assert convert(f"{s3.url}/logs", "out", ONE).grouped_files == convert("logs", "local", ONE).grouped_files == 1
    records = [path.read_bytes() for path in (here / "out").glob("*.jsonl")]
    assert records == [path.read_bytes() for path in (here / "local").glob("*.jsonl")]
    assert len(b"".join(records).splitlines()) == 2
