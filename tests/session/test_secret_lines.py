"""The line of a log in which a value is."""

import io
from array import array

from chatsquash.core.log import Log
from chatsquash.session.secret_lines import first_lines

DATA = b'{"a": 1}\n{"a": "Zq7Vn2Lx8Wd4"}\n{"a": "Zq7Vn2Lx8Wd4 kettle9drum"}\n'


def test_the_first_line_with_a_value_is_its_line():
    log = Log("a.jsonl", "a.jsonl", "a.jsonl", len(DATA))
    values = ["kettle9drum", "Zq7Vn2Lx8Wd4", "elsewhere1"]
    assert first_lines(values, log, io.BytesIO(DATA)) == {"Zq7Vn2Lx8Wd4": 2, "kettle9drum": 3}


def test_only_the_lines_of_the_session_are_looked_at():
    log = Log("a.jsonl", "a.jsonl", "a.jsonl", len(DATA), spans=array("Q", [3, 33, 38, 1]))
    assert first_lines(["Zq7Vn2Lx8Wd4"], log, io.BytesIO(DATA)) == {"Zq7Vn2Lx8Wd4": 3}
