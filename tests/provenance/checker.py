"""The independent checker of docs/recipes, as a module."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATH = ROOT / "docs/recipes/check_provenance.py"
_spec = importlib.util.spec_from_file_location("check_provenance", PATH)
checker = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checker)
