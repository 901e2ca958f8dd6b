"""How CPU time grows with logs of hard shapes, as ``tests.conversion`` has them, under few options and under many."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from bench.commands import Bench, Fresh, Run, taken
from bench.goals import middle
from bench.table import markdown
from tests.conversion.shape_table import FILES, SHAPES, write

MANY = (
    *("--sessions-by", "chain", "--conversations", "all", "--restore", "all", "--loss", "weight"),
    *("--samples", "reply", "--pairs", "logged", "--duplicates", "ids", "--format", "jsonl"),
)
OPTIONS: dict[str, tuple[str, ...]] = {"default": (), "many options": MANY, "near": ("--duplicates", "near")}
COUNTS = (200, 400, 800)
_FEWER = 4  # times as few exchanges where less of everything is timed


class Growth(NamedTuple):
    """What a shape takes at three sizes, each twice the one before."""

    shape: str
    options: str
    sizes: list[int]
    """Bytes of input and output."""
    cpu: list[float]

    @property
    def per_doubling(self) -> float:
        """How many times as much the second step of twice the size takes as the first; 2 if each byte takes the same.

        A step of bytes that is larger than twice the first one, as where samples contain their history, counts as two.
        """
        return 2 * _step(self.cpu) / max(2.0, _step(self.sizes))


def _step(three: list[Any]) -> float:
    return float((three[2] - three[1]) / max(three[1] - three[0], 1e-9))


def timed(bench: Bench, rounds: int) -> list[Growth]:
    """Every shape under every list of options."""
    return [_growth(bench, shape, options, rounds) for shape in (*SHAPES, *FILES) for options in OPTIONS]


def _growth(bench: Bench, shape: str, options: str, rounds: int) -> Growth:
    sizes, cpu = [], []
    for count in COUNTS:
        logs = write(shape, count // (_FEWER if bench.quick else 1), bench.data / "shapes")
        runs, size = list[Run](), 0
        for _ in range(rounds):
            with Fresh(bench.out):
                runs.append(taken(bench, [bench.convert(logs, "--workers", "1", *OPTIONS[options])]))
                size = _size(logs) + _size(bench.out)
        shutil.rmtree(logs)
        sizes.append(size)
        cpu.append(middle(runs, "cpu"))
    return Growth(shape, options, sizes, cpu)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def shown(results: dict[str, Any]) -> str:
    """The growth of every shape, as a table."""
    lines = [["shape", *OPTIONS]]
    for shape in (*SHAPES, *FILES):
        steps = {each.options: each.per_doubling for each in results["shapes"] if each.shape == shape}
        lines.append([shape, *(f"{steps[each]:.1f}x" for each in OPTIONS)])
    return markdown(lines)
