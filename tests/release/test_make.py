"""What ``make`` does for who has a checkout: what it installs, where it converts to, and how it ends."""

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import cases, log_line, write_log

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="there is no make")


def make(folder: Path, *given: str, **variables: str) -> subprocess.CompletedProcess:
    # The tests may themselves run under make, whose variables would be heard here.
    aside = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "LOGS", "OUT", "REPLACE", "VENV", "PYTHON")
    alone = {name: value for name, value in os.environ.items() if name not in aside}
    return subprocess.run(["make", *given], capture_output=True, text=True, cwd=folder, env={**alone, **variables})


@pytest.fixture(scope="module")
def offline(tmp_path_factory) -> dict[str, str]:
    """Variables with which pip, that of here, takes what is installed here for installed, chatsquash aside."""
    installed = tmp_path_factory.mktemp("installed")
    for each in Path(site.getsitepackages()[0]).iterdir():
        if not each.name.startswith(("chatsquash", "_chatsquash", "_editable", "__pycache__")):
            (installed / each.name).symlink_to(each)
    # pip reads a variable of an option that begins with "no" as the value of the thing itself.
    return {"PYTHONPATH": str(installed), "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """A Python that makes environments without a pip of their own, which would take seconds."""
    python = tmp_path_factory.mktemp("python") / "python"
    python.write_text(f'#!/bin/sh\n[ "$2" = venv ] && set -- "$@" --without-pip\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    return python


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, offline, python) -> Path:
    """A checkout whose environment ``make convert`` set up."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("pipeline", "sample_logs"):
        (folder / name).symlink_to(ROOT / name)
    done = make(folder, "convert", "LOGS=sample_logs/ollama", f"PYTHON={python}", **offline)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Creating .venv with the runtime dependencies ...\n"
    assert (folder / "out-ollama/run.json").exists()
    return folder


def test_all_is_written_and_make_ends_with_0(checkout, offline):
    done = make(checkout, "convert", "LOGS=sample_logs/ollama", "OUT=whole", **offline)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "record written to whole (1 file)" in done.stderr


def test_something_is_left_out_and_make_ends_with_0_and_says_what(checkout, offline):
    write_log(checkout / "part/a.jsonl", log_line("hi"), "not JSON")
    write_log(checkout / "part/b.jsonl", log_line("a", at=2), log_line("a", at=1))
    done = make(checkout, "convert", "LOGS=part", **offline)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "skipped: 1 session (timestamp-order), 1 line (bad-line):",
        "chatsquash explain timestamp-order",
    ]
    assert (checkout / "out-part/2026-01-13.jsonl").exists()


@cases(
    "variables, logs, code, said",
    ("no logs there", {}, "LOGS=nothing", 2, "error: nothing: "),
    ("stopped at a line", {"CHATSQUASH_STRICT": "1"}, "LOGS=bad", 1, "error: stopped by --strict"),
)
def test_another_code_is_an_error_of_make(checkout, offline, variables, logs, code, said):
    write_log(checkout / "bad/a.jsonl", log_line("hi"), "not JSON")
    done = make(checkout, "convert", logs, "OUT=none", **offline, **variables)
    *_, failed, last = done.stderr.splitlines()
    assert done.returncode
    assert failed.startswith(said)
    assert last.startswith("make: *** ")
    assert last.endswith(f"Error {code}")
    assert not (checkout / "none/run.json").exists()


def test_tests_are_added_to_what_is_there_and_nothing_is_installed_twice(checkout):
    core, installed = checkout / ".venv/core", checkout / ".venv/installed"
    assert "pip install" not in make(checkout, "-n", "convert").stdout
    added = make(checkout, "-n", ".venv/installed").stdout
    assert ("--editable '.[dev]'" in added, "venv --clear" in added) == (True, False)
    installed.touch()
    assert make(checkout, "-q", ".venv/core", ".venv/installed").returncode == 0
    later = core.stat().st_mtime + 100
    os.utime(checkout / "pyproject.toml", (later, later))
    anew = make(checkout, "-n", ".venv/installed").stdout
    assert anew.index("venv --clear") < anew.index("--editable . ") < anew.index("--editable '.[dev]'")
    os.utime(checkout / "pyproject.toml", (0, 0))
    installed.unlink()


TOLD = [
    ("Downloading polars-2.1.0-py3-none-any.whl (911 kB)", "  downloads polars 2.1.0 (911 kB)\n"),
    ("  Downloading tqdm-4.70.tar.gz (1.5 MB)", "  downloads tqdm 4.70.tar.gz (1.5 MB)\n"),
    ("Using cached click-8.5.1-py3-none-any.whl (126 kB)", "  has click 8.5.1 (126 kB)\n"),
    ("Downloading click-8.5.1-py3-none-any.whl.metadata (2.6 kB)", ""),
    ("Using cached click-8.5.1-py3-none-any.whl.metadata (2.6 kB)", ""),
    ("Collecting click>=8.2 (from chatsquash==0.1.0)", ""),
    ("Successfully installed click-8.5.1", ""),
]


@pytest.mark.parametrize("said, told", TOLD, ids=[said for said, _ in TOLD])
def test_each_package_that_pip_fetches_is_told_with_its_size(tmp_path, said, told):
    rule = tmp_path / "rule.mk"
    rule.write_text(f"include {ROOT / 'Makefile'}\ntold:\n\t@echo '{said}' | $(FETCHED)\n")
    assert make(tmp_path, "-f", str(rule), "told").stdout == told


def test_where_pip_fails_nothing_counts_as_installed(checkout, tmp_path, offline, python):
    failing = "FETCH=echo 'Downloading x-1-py3.whl (1 kB)'; echo refused >&2; false"
    given = ("convert", f"PYTHON={python}", f"VENV={tmp_path / 'env'}", failing)
    done = make(checkout, *given, **offline)
    assert (done.returncode, done.stdout.splitlines()[1]) == (2, "  downloads x 1 (1 kB)")
    assert done.stderr.startswith("refused\n")
    assert not (tmp_path / "env/core").exists()


MADE = [
    ([], ["sample_logs"], "out", "the sample logs"),
    (["LOGS=logs"], ["logs"], "out-logs", "a folder: its name"),
    (["LOGS=logs/"], ["logs/"], "out-logs", "with a slash behind it"),
    (["LOGS=."], ["."], "out-here", "where one is"),
    (["LOGS=logs/../logs/a.jsonl"], ["logs/../logs/a.jsonl"], "out-logs", "a file: the folder that it lies in"),
    (["LOGS=a.jsonl"], ["a.jsonl"], "out-here", "a file where one is"),
    (["LOGS='logs/*.jsonl'"], ["logs/*.jsonl"], "out-logs", "a glob: the folder in which it looks"),
    (["LOGS='lo*/a.jsonl'"], ["lo*/a.jsonl"], "out-here", "a glob for folders"),
    (["LOGS='my logs'"], ["my logs"], "out-my logs", "a name with a space has quotes of its own"),
    (["LOGS='my logs' logs"], ["my logs", "logs"], "out-my logs", "several: the first"),
    (["LOGS='my logs' logs", "OUT=my out"], ["my logs", "logs"], "my out", "OUT wins"),
    (["OUT=mine"], ["sample_logs"], "mine", "the sample logs somewhere else"),
    (["LOGS=logs", "REPLACE=1"], ["logs"], "out-logs", "what is there is replaced"),
]


@pytest.mark.parametrize("given, logs, out, why", MADE, ids=[why for *_, why in MADE])
def test_make_convert_names_the_output_by_its_logs(tmp_path, given, logs, out, why):
    for folder in ("here/logs", "here/my logs", "here/.venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("logs/a.jsonl", "a.jsonl", "pyproject.toml"):
        (tmp_path / "here" / file).touch()
    shown = tmp_path / "here/.venv/bin/chatsquash"
    shown.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    shown.chmod(0o700)
    told = make(tmp_path / "here", "-f", str(ROOT / "Makefile"), "-o", ".venv/core", "convert", *given)
    expected = ["convert", *logs, "--output", out, *(["--replace"] if "REPLACE=1" in given else [])]
    assert (told.stdout.splitlines(), told.stderr, told.returncode) == (expected, "", 0)
