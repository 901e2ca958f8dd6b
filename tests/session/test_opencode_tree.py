"""opencode's tree of files in a whole run: what belongs to a session is read with it, and nothing else."""

import json
import shutil
import tarfile
import zipfile

import pytest

from chatsquash import Options, convert
from tests import golden
from tests.outputs import findings, report

CASE = golden.ROOT / "opencode" / "the_tree_of_older_versions"
SAID = ["It stands at 4.1 m.", "4.1 m."]


@pytest.fixture
def tree(here):
    shutil.copytree(CASE / "logs", here / "logs")
    return here / "logs/storage"


def run(**options):
    return convert(
        options.pop("logs", "logs"), "out", Options(**{"anonymize": False, "conversations": "all", **options})
    )


def said(here):
    paths = sorted(here.glob("out/*.jsonl"))
    records = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [record["messages"][-1]["content"] for record in records]


def test_a_session_is_read_with_its_messages_and_parts(here, tree):
    summary = run()
    assert (summary.written, dict(summary.others)) == (2, {"part of another file": 15})
    assert said(here) == SAID
    assert findings("file-not-read")[0]["text"] == "15 parts of other files, read there"
    assert findings("unknown-format") == []


def test_a_session_can_be_named(here, tree):
    (path,) = tree.glob("session/*/ses_5b02Gauge.json")
    run(logs=str(path))
    assert said(here) == SAID[1:]


def test_a_sub_agent_is_of_the_session_that_began_it(here, tree):
    run(trace_replies=True)
    rows = {row["kind"]: row for row in report("replies.jsonl")}
    assert rows["subagent"]["parent"] == rows["main"]["conversation"]


def test_a_part_that_changed_is_read_anew(here, tree):
    run()
    assert run().unchanged
    part = tree / "part/msg_a2/prt_b5.json"
    part.write_text(part.read_text().replace("4.1 m", "4.2 m"))
    assert not run().unchanged
    assert said(here) == ["It stands at 4.2 m.", "4.1 m."]


def test_a_part_that_was_added_is_read(here, tree):
    run()
    more = json.loads((tree / "part/msg_a2/prt_b5.json").read_text())
    (tree / "part/msg_a2/prt_b55.json").write_text(json.dumps({**more, "id": "prt_b55", "text": "It falls now."}))
    run()
    assert "It falls now." in str(said(here))


def test_a_tree_in_an_archive(here, tree):
    with zipfile.ZipFile(here / "tree.zip", "w") as archive:
        for path in sorted(tree.rglob("*.json")):
            archive.write(path, f"data/storage/{path.relative_to(tree)}")
    summary = run(logs="tree.zip")
    assert (summary.written, dict(summary.others)) == (2, {"part of another file": 15})
    assert said(here) == SAID


def test_a_tree_in_an_archive_whose_names_begin_with_a_dot(here, tree):
    with tarfile.open(here / "tree.tar", "w") as archive:
        archive.add(here / "logs", ".")
    summary = run(logs="tree.tar")
    assert (summary.written, dict(summary.others)) == (2, {"part of another file": 15})


def test_what_lies_around_an_archive_is_no_part_of_a_session_in_it(here, tree):
    (path,) = tree.glob("session/*/ses_5b02Gauge.json")
    with zipfile.ZipFile(here / "logs/storage/session/x.zip", "w") as archive:
        archive.write(path, path.name)
    assert dict(run(logs="logs/storage/session/x.zip").left_out) == {"unanswered-session": 1}


def test_a_sub_agent_is_read_anew_once_a_part_of_its_caller_changed(here, tree):
    run(trace_replies=True)
    part = tree / "part/msg_a2/prt_b2.json"
    part.write_text(part.read_text().replace("toolu_31", "toolu_32"))
    assert run(trace_replies=True).reused == 0


def test_a_session_may_be_as_large_as_memory_allows(here, tree):
    part = tree / "part/msg_a2/prt_b5.json"
    part.write_text(json.dumps({**json.loads(part.read_text()), "text": "x" * 3_000_000}))
    assert run(max_memory=100_000_000).written == 2
    assert dict(run(max_memory=2_000_000).left_out) == {"unreadable-log": 1}


def test_what_a_run_keeps_does_not_grow_with_the_square_of_a_session(here, tree):
    held = {}
    for count in (50, 100):
        compactions(tree, count)
        run()
        held[count] = sum(path.stat().st_size for path in (here / "out").rglob("*") if path.is_file())
    assert held[100] < 3 * held[50]


def compactions(tree, count):
    """A session that was summed up so many times."""
    for number in range(4 * count):
        name, role = f"msg_e{number:05}", ("user", "assistant")[number % 2]
        summary = {"summary": True, "parentID": f"msg_e{number - 1:05}"} if number % 4 == 3 else {}
        value = {"id": name, "role": role, "time": {"created": number}, "modelID": "m", "finish": "stop", **summary}
        part = {"type": "compaction"} if number % 4 == 2 else {"type": "text", "text": f"t{number}"}
        put(tree / f"message/ses_5b01Tide/{name}.json", value)
        put(tree / f"part/{name}/prt_1.json", {"id": "prt_1", "messageID": name, **part})


def put(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.mark.parametrize("name", ["../../secret", "..", "*", "msg_a1/../../..", ""])
def test_an_id_that_names_another_folder_is_not_followed(here, tree, name):
    (here / "logs/secret").mkdir()
    (here / "logs/secret/prt_1.json").write_text(json.dumps({"messageID": name, "type": "text", "text": "SECRET"}))
    message = tree / "message/ses_5b02Gauge/msg_c1.json"
    message.write_text(json.dumps({**json.loads(message.read_text()), "id": name}))
    run()
    assert "SECRET" not in "".join(path.read_text("utf-8") for path in here.glob("out/*.jsonl"))


def test_nobody_answers_in_a_session_whose_messages_are_gone(here, tree):
    shutil.rmtree(tree / "message")
    summary = run()
    assert dict(summary.left_out) == {"unanswered-session": 2}


@pytest.mark.parametrize("folder", ["message", "part", "message/ses_5b02Gauge", "part/msg_c2"])
def test_a_linked_folder_is_not_followed_unless_asked(here, tree, folder):
    (tree / folder).rename(here / "elsewhere")
    (tree / folder).symlink_to(here / "elsewhere")
    run()
    without = said(here)
    assert without != SAID
    run(follow_links=True, full=True)
    assert said(here) == SAID


def test_a_fork_has_the_replies_of_its_session_as_context(here, tree):
    """A fork gets new ids and keeps the messages with their times, as ``Session.fork`` of OpenCode 1.1 writes it."""
    (session,) = tree.glob("session/*/ses_5b01Tide.json")
    put(session.with_name("ses_5b09Fork.json"), {**json.loads(session.read_text()), "id": "ses_5b09Fork"})
    for number, name in enumerate(("msg_a1", "msg_a2"), 1):
        value = json.loads((tree / f"message/ses_5b01Tide/{name}.json").read_text())
        copy = {**value, "id": f"msg_f{number}", "sessionID": "ses_5b09Fork"}
        put(tree / f"message/ses_5b09Fork/msg_f{number}.json", copy)
        for path in sorted((tree / f"part/{name}").glob("*.json")):
            part = {
                **json.loads(path.read_text()),
                "messageID": f"msg_f{number}",
                "id": path.stem.replace("prt_", "prt_f"),
            }
            put(tree / f"part/msg_f{number}/{part['id']}.json", part)
    for number, (role, text) in enumerate((("user", "And at noon?"), ("assistant", "It stands at 5.0 m.")), 3):
        time = {"created": 1767700000000 + number}
        more = {"modelID": "m", "finish": "stop"} if role == "assistant" else {}
        message = {"id": f"msg_f{number}", "sessionID": "ses_5b09Fork", "role": role, "time": time, **more}
        put(tree / f"message/ses_5b09Fork/msg_f{number}.json", message)
        put(
            tree / f"part/msg_f{number}/prt_1.json",
            {"id": "prt_1", "messageID": f"msg_f{number}", "type": "text", "text": text},
        )
    run(loss="weight", format="jsonl", preset="openai")
    texts = [path.read_text() for path in here.glob("out/data/*.jsonl")]
    messages = [message for text in texts for line in text.splitlines() for message in json.loads(line)["messages"]]
    trained = [message.get("content") for message in messages if message.get("weight") == 1]
    assert sorted(each for each in trained if each) == sorted([*SAID, "It stands at 5.0 m."])
