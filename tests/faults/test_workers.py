"""A worker process that is killed costs its session at most."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import cases, log_line, write_log

DEADLY = """
import os, signal
from pathlib import Path
from chatsquash.conversion import workers
from chatsquash.session import converter
from chatsquash.sources.compression import stem

def deadly(self, job, **more):
    fate = stem(job).partition("-")[0]
    if fate == "killed" or (fate == "once" and not Path("struck").exists()):
        Path("struck").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if fate == "memory":
        raise MemoryError
    return convert(self, job, **more)

workers._WORTH_A_PROCESS = 1
workers._BATCH_JOBS = {batch}
convert, converter.Converter.convert = converter.Converter.convert, deadly
if __name__ == "__main__":
    from chatsquash.cli.main import main
    main()
"""


def run(folder: Path, workers: int, batch: int = 3) -> dict:
    (folder / "deadly.py").write_text(DEADLY.format(batch=batch))
    command = [sys.executable, "deadly.py", "convert", "logs", "--json", "--workers", str(workers)]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stderr == ""
    return {**json.loads(ran.stdout), "code": ran.returncode}


def lost(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "out" / "reports" / "findings.jsonl").read_text().splitlines()
    return [(each["file"], each["text"]) for each in map(json.loads, lines) if each["code"] == "lost-worker"]


def users(folder: Path) -> list[str]:
    """The texts of the records, in their order."""
    lines = (folder / "out" / "2026-01-13.jsonl").read_text().splitlines()
    return [json.loads(line)["messages"][0]["content"] for line in lines]


def logs(folder: Path, *names: str) -> None:
    for name in names:
        write_log(folder / "logs" / f"{name}.jsonl", log_line(name))


@cases(
    "fate, reasons, code",
    ("killed once", "once", [], 0),
    ("killed each time", "killed", ["its process died twice with SIGKILL"], 3),
    ("without memory", "memory", ["its process died twice with exit code 70"], 3),
)
@pytest.mark.parametrize("batch", [1, 3])
def test_a_session_that_ends_its_process_is_tried_once_more_and_the_run_goes_on(tmp_path, fate, reasons, code, batch):
    names = ["a", "b", "c", "d", f"{fate}-e", "f", "g", "h"] if fate < "m" else ["a", f"{fate}-e", "p", "q", "r"]
    logs(tmp_path, *names)
    summary = run(tmp_path, 2, batch)
    assert summary["code"] == code
    assert summary["sessions"]["seen"] == len(names)
    assert [text.partition(": ")[0] for _, text in lost(tmp_path)] == [
        f"the log was skipped ({why})" for why in reasons
    ]
    written = [name for name in sorted(names) if not (reasons and name.startswith(fate))]
    assert users(tmp_path) == written


def test_many_deaths_cost_their_sessions_alone(tmp_path):
    logs(tmp_path, *(f"{fate}-{number}" for number in range(6) for fate in ("a", "killed", "z")))
    sessions = run(tmp_path, 3)["sessions"]
    assert (sessions["seen"], sessions["written"], sessions["left_out"]) == (18, 12, {"lost-worker": 6})


def test_what_was_lost_is_tried_again_by_the_next_run(tmp_path):
    logs(tmp_path, "a", "memory-b", "c")
    assert run(tmp_path, 2)["sessions"]["left_out"] == {"lost-worker": 1}
    again = run(tmp_path, 1)
    assert (again["reused"], again["unchanged"], again["sessions"]["left_out"]) == (2, False, {"lost-worker": 1})
    assert lost(tmp_path)[0][1].startswith("the log was skipped (memory ran out): ")
