"""opencode's tree of files in a whole run: what belongs to a session is read with it, and nothing else."""

import json
import shutil
import zipfile

import pytest

from chatsquash import Options, convert
from tests import golden
from tests.run.outputs import findings, report

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
    assert findings("file-not-read")[0]["text"] == "15 parts of other files, which is where they are read"
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
    assert summary.written == 2
    assert said(here) == SAID


@pytest.mark.parametrize("name", ["../../secret", "..", "*", "msg_a1/../../..", ""])
def test_an_id_that_names_another_folder_is_not_followed(here, tree, name):
    (here / "logs/secret").mkdir()
    (here / "logs/secret/prt_1.json").write_text(json.dumps({"messageID": name, "type": "text", "text": "SECRET"}))
    message = tree / "message/ses_5b02Gauge/msg_c1.json"
    message.write_text(json.dumps({**json.loads(message.read_text()), "id": name}))
    run()
    assert "SECRET" not in "".join(path.read_text("utf-8") for path in here.glob("out/*.jsonl"))


def test_a_session_whose_messages_are_gone_is_empty(here, tree):
    shutil.rmtree(tree / "message")
    summary = run()
    assert dict(summary.left_out) == {"empty-session": 2}
