"""What every test starts from: a fixed key, no variables of the user's, the same examples in every run."""

from __future__ import annotations

import fcntl
import gc
import hashlib
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from chatsquash.core.extras import Installation
from tests.progress import Progress

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As shells start what runs in the background: processes of tests would inherit it, and no Ctrl-C would reach them.
    signal.signal(signal.SIGINT, signal.default_int_handler)

KEY = "a key for tests, and for nothing else"

settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("whole", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("long", deadline=None, derandomize=True, max_examples=1000)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
# It also draws the constants of our modules that are loaded, which differ with the order in which tests are run.
providers.is_local_module_file = lambda _: False


def examples(count: int, **others: Any) -> settings:
    """Settings of a law that ``make fuzz-fixed`` holds with so many examples; ``make test`` tries 15 % of them."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100), **others)


def often(count: int) -> int:
    """How often a law has to meet each kind of what it is about: so often in ``make fuzz-fixed``, else at all."""
    return count if settings.default.max_examples >= 100 else 1


def pytest_configure(config):
    """A worker prints nothing, and -v prints a line for each test."""
    if not hasattr(config, "workerinput") and config.get_verbosity() < 1:
        config.pluginmanager.register(Progress())


def pytest_sessionstart():
    """Nothing that is collected is garbage."""
    gc.disable()


def pytest_collection_finish():
    """What was collected lasts until the end, so that no search for garbage has to go through it, nor often."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


@pytest.fixture(autouse=True)
def _the_same_surroundings(monkeypatch, tmp_path_factory):
    for name in [name for name in os.environ if name.startswith("CHATSQUASH_")]:
        monkeypatch.delenv(name)
    key = tmp_path_factory.getbasetemp() / "anonymize.key"
    if not key.exists():
        key.write_text(KEY, encoding="utf-8")
    monkeypatch.setenv("CHATSQUASH_ANONYMIZE_KEY_FILE", str(key))
    monkeypatch.setattr("chatsquash.core.extras.running", lambda: Installation(Path("/of/pip")))


@pytest.fixture(autouse=True)
def _fork_server(monkeypatch):
    """Workers are forked from a server with their modules loaded, since each would load them next to threads of tests.

    They have the variables that the server began with.
    """
    import multiprocessing

    modules = ["chatsquash.conversion.pool", "chatsquash.session.converter", "chatsquash.conversion.workers"]
    multiprocessing.set_forkserver_preload(modules)
    monkeypatch.setattr("chatsquash.core.platform.start_method", lambda: "forkserver")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The present folder is a new one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def sample_run(tmp_path_factory):
    """Converts the sample logs with these options, once for all workers; tests only read the output folder."""
    from chatsquash import Options, convert

    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "sample-runs"
    shared.mkdir(exist_ok=True)

    def run(**options: Any) -> Path:
        named = options if "anonymize" in options else {"anonymize_key": KEY.encode(), **options}
        out = shared / hashlib.sha256(repr(sorted(named.items())).encode()).hexdigest()
        with open(shared / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (out / "run.json").exists():
                convert(Path(__file__).parents[1] / "sample_logs", out, Options(**named))
        return out

    return run


def user(content: Any = "hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any = "hello", **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def cases(names: str, *rows: Any) -> pytest.MarkDecorator:
    """Run a test for each row; a row that has one value more than there are names begins with a sentence, its id."""
    count = names.count(",") + 1
    return pytest.mark.parametrize(
        names,
        [pytest.param(*row[1:], id=row[0]) if type(row) is tuple and len(row) == count + 1 else row for row in rows],
    )


def table(run: Any) -> dict[str, str]:
    """The rows of the table that a command prints of what it did: totals and parts by their labels."""
    return {
        row.label: " ".join([*([f"{row.total:,}"] if row.total else []), *row.parts]) for row in run.overview().rows
    }


def log_line(*messages: Any, reply: Any = "hello", at: Any = "2026-01-13T10:00:00Z", **fields: Any) -> dict[str, Any]:
    """One entry: texts are the user's, a text for a reply is the assistant's, ``reply=None`` means no response.

    ``tools`` goes to the request; ``at=None`` leaves the time out; all other fields stand beside the request.
    """
    request: dict[str, Any] = {"messages": [user(each) if isinstance(each, str) else each for each in messages]}
    if "tools" in fields:
        request["tools"] = fields.pop("tools")
    line = {"session_id": "s1", "request": request, **fields}
    if at is not None:
        line["timestamp"] = at
    if reply is not None:
        message = assistant(reply) if isinstance(reply, str) else reply
        line["response"] = {"choices": [{"index": 0, "message": message}]}
    return line


def write_log(path: Path, *lines: Any) -> Path:
    """A log of entries; text and bytes are written as they are, no line at all makes a log of one good entry."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(_written(line) + b"\n" for line in lines or (log_line("hi"),)))
    return path


def _written(line: Any) -> bytes:
    if isinstance(line, bytes):
        return line
    return line.encode() if isinstance(line, str) else json.dumps(line).encode()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder, hidden ones too, with the bytes of files; not what a run remembers for the next."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if not MEMORY.search(path.relative_to(folder).as_posix())
    }


MEMORY = re.compile(r"(^|/)\.chatsquash/(journal|state\.json)")
"""Journals and the state of an output folder: they hold times, and go by the process that wrote them."""


def real_exchanges(pattern: str = "*/*.jsonl") -> list[Path]:
    """Recorded exchanges with real services, a folder per format: where the variable ``REAL_EXCHANGES`` says."""
    named = os.environ.get("REAL_EXCHANGES")
    if named and not Path(named).is_dir():
        raise pytest.UsageError(f"REAL_EXCHANGES is {named}, which is no folder")
    return sorted(Path(named).glob(pattern)) if named else []


needs_real_exchanges = pytest.mark.skipif(not real_exchanges(), reason="the recorded exchanges are not there")


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs ``chatsquash`` with these arguments in this process."""
    from chatsquash.cli.main import main

    terminate = signal.getsignal(signal.SIGTERM)

    def run(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["chatsquash", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Result(ended.value.code or 0, *capsys.readouterr())

    yield run
    signal.signal(signal.SIGTERM, terminate)
