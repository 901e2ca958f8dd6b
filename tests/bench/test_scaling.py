"""Work is divided by bytes, and the cost of long sessions is held to a straight line."""

import pytest

from bench import scaling
from bench.scaling import Length, line, parts


@pytest.fixture
def paths(tmp_path):
    made = [tmp_path / f"{number}.jsonl" for number in range(20)]
    for number, path in enumerate(made):
        path.write_bytes(b"x" * (1 + number * number))
    return made


@pytest.mark.parametrize("count", scaling.CORES)
def test_parts_hold_every_file_once_and_about_as_many_bytes(paths, count):
    made = parts(paths, count)
    assert len(made) == count
    assert sorted(path for part in made for path in part) == sorted(paths)
    sizes = [sum(path.stat().st_size for path in part) for part in made]
    assert max(sizes) - min(sizes) <= max(path.stat().st_size for path in paths)


def test_a_line_through_points_that_lie_on_one_explains_all():
    found = line([1, 2, 4], [5, 7, 11])
    assert (found.start, found.slope, found.explains) == pytest.approx((3, 2, 1))
    assert found.at(10) == pytest.approx(23)


def test_a_line_through_a_curve_explains_less():
    assert line([0, 1, 2, 3, 4], [0, 1, 16, 81, 256]).explains < 0.8


def test_a_line_through_the_same_value_everywhere_explains_all():
    assert line([1, 2, 3], [4, 4, 4]) == pytest.approx((4, 0, 1))


def test_what_reading_takes_is_not_of_the_cost_of_what_was_added():
    runs = {"one": [{"cpu": 1.0}, {"cpu": 3.0}, {"cpu": 1.5}], "wc": [{"cpu": 0.5}] * 3}
    assert scaling.beyond_reading([Length(10, 2_000_000, 9_000_000, runs)]) == ([2.0], [1.0])
