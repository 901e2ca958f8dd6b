"""The structure of the code gets no worse, and the figures that say so are counted correctly."""

import json

import pytest

from tests import house

FILES = {
    "__init__": "",
    "model": "def f():\n    from chatsquash.formats import base\n    told = found_it = 1\n    return told\n",
    "formats/__init__": "import sys\nfrom ..registry import Room\nROOM = Room(sys.modules[__name__])\n",
    "formats/base": "from chatsquash.model import f\nclass Text: ...\nclass Found: ...\n",
    "formats/parrot": "from chatsquash.formats.base import Text\nclass _Text: ...\nx = getattr(Text, 'y', hasattr(Text, 'z'))\n",
    "formats/_squawk": "class Text: ...\n",
    "formats/owl": "from . import _squawk\n# told\n_told = 'found'\n",
    "registry": "import chatsquash\nclass Room:\n    def kept(self):\n        pass\n",
}
LAYERS = ["chatsquash.formats", "chatsquash.model | chatsquash.registry"]


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "pipeline" / "chatsquash" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("tests/test_a.py", "tests/golden/case/made.py", "accelerator/a.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("\n\n")
    contract = f"[[tool.importlinter.contracts]]\ntype = 'layers'\nlayers = {json.dumps(LAYERS)}\n"
    (tmp_path / "pyproject.toml").write_text(contract)
    return tmp_path


def test_no_figure_is_worse_than_recorded():
    recorded = json.loads(house.RECORD.read_text())
    now = house.figures(house.ROOT)
    assert now.keys() <= recorded.keys()
    assert house.worse(now, recorded) == []


def test_the_figures_of_a_small_tree(tree):
    assert house.figures(tree) == {
        "lines of Python": 21,
        "lines of C": 2,
        "longest function": 4,
        "functions over 45 lines": 0,
        "modules": 8,
        "largest module": 4,
        "arrows between rooms": 4,
        "circles": 1,
        "upward imports": 1,
        "names with three or more types": 1,
        "identifier told": 3,
        "identifier found": 0,
        "identifier held": 0,
        "told, found and held": 3,
        "lines of tests": 2,
        "calls of getattr": 1,
        "calls of hasattr": 1,
        "calls of either in formats": 2,
        "names that are bare participles": 2,
        "lone modules": 1,
    }


def test_what_is_counted_is_listed(tree):
    known = house.modules(tree / "pipeline" / "chatsquash")
    assert house.lone_modules(known) == ["chatsquash.formats._squawk"]
    assert house.participles(known) == ["chatsquash.formats.base.Found", "chatsquash.registry.kept"]
    assert sorted(map(sorted, house.circles(house.imports(known)))) == [["chatsquash.formats.base", "chatsquash.model"]]


def test_a_larger_value_is_worse_and_a_missing_one_is_not():
    assert house.worse({"a": 2, "b": 1, "c": None, "d": 9}, {"a": 1, "b": 1, "c": 1}) == ["a"]
