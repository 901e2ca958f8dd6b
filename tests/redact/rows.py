"""The rows of tables in files: ``rows.toml``, by module and name, and texts, one on each line."""

import tomllib
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_TABLES: Any = tomllib.loads((_FOLDER / "rows.toml").read_text("utf-8"))


def rows(name: str) -> list[Any]:
    module, table = name.split(".")
    return [tuple(row) if isinstance(row, list) else row for row in _TABLES[module][table]]


def texts(name: str) -> list[str]:
    return (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
