"""The notebooks of docs/ with what their cells print: ``python -m tests.notebooks`` runs them and writes that anew.

Each runs in a new folder that holds sample_logs, with a home of its own.
"""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

from tests.generate import ROOT

NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.ipynb"))


def executed(name: str) -> str:
    """The text of a notebook whose cells have just run; raises ``CellExecutionError`` where one fails."""
    notebook = nbformat.read(ROOT / name, as_version=4)
    with TemporaryDirectory() as folder:
        home = Path(folder, "home")
        home.mkdir()
        shutil.copytree(ROOT / "sample_logs", Path(folder, "work/sample_logs"))
        os.environ.update(HOME=str(home), XDG_CONFIG_HOME=str(home), IPYTHONDIR=str(home / "ipython"), NO_COLOR="1")
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": f"{folder}/work"}}).execute()
    return nbformat.writes(_plain(notebook)) + "\n"


def _plain(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook without what differs from run to run: when a cell ran, and the kernel's version."""
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number + 1}"
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("text/html", None)
    return notebook


def main() -> None:
    for name in NOTEBOOKS:
        (ROOT / name).write_text(executed(name), encoding="utf-8")


if __name__ == "__main__":
    main()
