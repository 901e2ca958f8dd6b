"""The agent of CONTRIBUTING.md: its module reads its golden case, and its tests pass."""

import re
import subprocess
import sys

import pytest

from tests.test_docs import ROOT, compact, json_values

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\S+ file=(\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
RUN = """\
import sys
from pathlib import Path

import pytest

import chatsquash.formats.agents
from tests import golden

here = Path(sys.argv[1])
chatsquash.formats.agents.__path__.append(str(here / "pipeline/chatsquash/formats/agents"))
golden.ROOT = here / "tests/golden"
golden_test = "tests/test_golden.py::test_a_case_becomes_the_bytes_expected_in_memory_and_in_a_run"
sys.exit(pytest.main(["-vv", "-n0", "-p", "no:cacheprovider", golden_test, str(here / "tests/formats/test_beaver.py")]))
"""


def content(name, text):
    return text if name.endswith(".py") else "".join(f"{compact(value)}\n" for value in json_values(text))


def run(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content(name, text), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-c", RUN, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_example_has_a_module_a_golden_case_and_a_test():
    case = "tests/golden/beaver/a_call_and_its_result"
    assert list(FILES) == [
        "pipeline/chatsquash/formats/agents/beaver.py",
        f"{case}/logs/dam.jsonl",
        f"{case}/expected.jsonl",
        "tests/formats/test_beaver.py",
    ]


def test_the_example_passes(tmp_path):
    done = run(tmp_path, FILES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" PASSED") == 3


@pytest.mark.parametrize("wrong", ["Four meters.", "unknown kind"])
def test_a_wrong_expectation_fails(tmp_path, wrong):
    name = next(name for name, text in reversed(FILES.items()) if wrong in text)
    done = run(tmp_path, {**FILES, name: FILES[name].replace(wrong, "changed")})
    assert done.returncode == 1, done.stdout + done.stderr


def test_the_page_is_short():
    assert len(PAGE.split()) <= 1_200
