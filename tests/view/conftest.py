"""Results to look at, and somebody who does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from chatsquash import Options, convert
from chatsquash.view.app import app
from chatsquash.view.guard import Keys
from chatsquash.view.logs import Viewer
from tests import hostile_logs

BASE = "http://127.0.0.1:8000"
SAMPLES = Path(__file__).parents[2] / "sample_logs"


class Reader:
    """Somebody with the cookie, and the result that the viewer shows."""

    def __init__(self, out: Path, model=None) -> None:
        self.keys = Keys()
        self.viewer = Viewer(out, model)
        self.client = TestClient(app(self.viewer, self.keys), base_url=BASE)
        assert self.client.get("/", params={"token": self.keys.token}).status_code == 200

    @property
    def result(self):
        return self.viewer.newest()[0]

    def get(self, path: str, **query):
        return self.client.get(path, params=query or None)

    def of(self, at: int, path: str = "", **query):
        """A page of a session."""
        return self.get(f"/r/{self.viewer.tag}/s/{at}{path}", **query)

    def named(self, at: int) -> str:
        """The place of a record, as pages name it."""
        row = self.result.sessions.row(at, named=True)
        return f"{row['file']}:{row['row']}"

    def at(self, session: str) -> int:
        """The row of the session table of the first record of a session."""
        frame = self.result.sessions
        return int(frame.filter(frame["session"] == session)["at"][0])


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """The sample run, which tests only read."""
    folder = tmp_path_factory.mktemp("samples")
    shutil.copytree(SAMPLES, folder / "logs")
    convert(folder / "logs", folder / "out", Options(anonymize=False))
    return folder / "out"


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory):
    """The hostile run, which tests only read."""
    folder = tmp_path_factory.mktemp("hostile")
    convert(hostile_logs.write(folder / "logs"), folder / "out", hostile_logs.OPTIONS)
    return folder / "out"


@pytest.fixture
def sample_reader(samples):
    return Reader(samples)


@pytest.fixture
def hostile_reader(hostile_run):
    return Reader(hostile_run)
