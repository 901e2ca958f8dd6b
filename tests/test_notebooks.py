"""The notebooks of docs/ print what they show."""

import subprocess
import sys

import pytest

from tests.generate import ROOT

NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.ipynb"))
RUN = "import sys; from tests.notebooks import executed; sys.stdout.write(executed(sys.argv[1]))"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_cells_of_a_notebook_print_what_it_shows(name):
    done = subprocess.run([sys.executable, "-c", RUN, name], cwd=ROOT, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert done.stdout.decode() == (ROOT / name).read_text(encoding="utf-8"), "make docs writes it anew"


def test_there_is_a_notebook():
    assert NOTEBOOKS
