"""What hard shapes take is compared with the bytes that are read and written."""

import pytest

from bench import shapes
from bench.shapes import OPTIONS, Growth


@pytest.mark.parametrize(
    ("sizes", "cpu", "per_doubling"),
    [
        ([10, 20, 40], [1.0, 1.5, 2.5], 2.0),
        ([10, 20, 40], [1.0, 1.5, 3.5], 4.0),
        ([10, 20, 60], [1.0, 1.5, 3.5], 2.0),
        ([10, 11, 12], [1.0, 1.5, 2.5], 2.0),
    ],
    ids=["linear", "quadratic", "as its output", "hardly any output"],
)
def test_growth_is_that_beyond_the_bytes(sizes, cpu, per_doubling):
    assert Growth("chain", "default", sizes, cpu).per_doubling == pytest.approx(per_doubling)


def test_each_shape_has_a_line():
    grown = [Growth(shape, each, [1, 2, 4], [1, 2, 4]) for shape in (*shapes.SHAPES, *shapes.FILES) for each in OPTIONS]
    lines = shapes.shown({"shapes": grown}).splitlines()
    assert len(lines) == 2 + len(grown) / len(OPTIONS)
    assert all(line.count("2.0x") == len(OPTIONS) for line in lines[2:])
