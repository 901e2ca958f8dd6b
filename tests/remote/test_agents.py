"""What agents keep in several files, and in databases, is read in a store as in a folder."""

import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from tests.conftest import cases, tree
from tests.formats.hostile import database
from tests.remote.logs import comparable

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
