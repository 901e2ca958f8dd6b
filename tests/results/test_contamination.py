"""Records that share words in a row with an evaluation set."""

import json
from random import Random

import polars as pl

from tests.conftest import assistant, cases, user

QUESTION = "A train leaves the station at noon, and another one leaves two hours later. Which of both arrives first?"
WORDS = QUESTION.split()


def write(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def record(text, **more):
    return {"messages": [user("Hi."), assistant(text, **more)], "tools": []}


@cases("held, expected",
    ("the same words", record(QUESTION), True),
    ("thirteen of them", record(" ".join(WORDS[3:16])), True),
    ("twelve are none", record(" ".join(WORDS[3:15])), False),
    ("in other letters and without punctuation", record(QUESTION.upper().replace(",", " --").replace("?", "!")), True),
    ("in a call", record("", tool_calls=[{"id": "c", "type": "function", "function": {"name": "ls", "arguments": json.dumps({"q": QUESTION})}}]), True),
    ("in what was thought", record("", reasoning_content=QUESTION), True),
    ("not over two messages", {"messages": [user(" ".join(WORDS[:10])), assistant(" ".join(WORDS[10:]))]}, False),
    ("in a completion", {"prompt": [user("Hi.")], "completion": [assistant(QUESTION)]}, True),
    ("another order", record(" ".join(reversed(WORDS))), False),
)  # fmt: skip
def test_words_in_a_row_are_found(command, tmp_path, held, expected):
    evaluation = write(tmp_path / "eval.jsonl", {"q": "short"}, {"deep": [{"q": f"Question: {QUESTION} Answer:"}]})
    ended = command("check", write(tmp_path / "a.jsonl", record("Hello."), held), "--against", evaluation)
    found = [line for line in ended.out.splitlines() if "[eval-overlap]" in line]
    assert (len(found), ended.code) == ((1, 3) if expected else (0, 0))
    if expected:
        assert f"a.jsonl:2\t[eval-overlap] messages[1]: 13 consecutive words shared with {evaluation}:2" in found[0]
        assert "train" not in ended.out
    assert "2 rows of evaluation sets, 1 too short to compare" in ended.err


def test_parquet_and_several_sets(command, tmp_path):
    pl.DataFrame({"id": [1, 2], "text": ["nothing", QUESTION]}).write_parquet(tmp_path / "e.parquet")
    other = write(tmp_path / "other.jsonl", {"q": "no"})
    data = write(tmp_path / "a.jsonl", record(QUESTION))
    ended = command("check", data, "--against", other, "--against", str(tmp_path / "e.parquet"))
    assert f"consecutive words shared with {tmp_path}/e.parquet:2\n" in ended.out


def test_a_byte_order_mark_is_skipped(command, tmp_path):
    evaluation = tmp_path / "eval.jsonl"
    evaluation.write_text(json.dumps({"q": QUESTION}), encoding="utf-8-sig")
    ended = command("check", write(tmp_path / "a.jsonl", record(QUESTION)), "--against", str(evaluation))
    assert (ended.code, "[eval-overlap]" in ended.out) == (3, True)
    assert "1 row of evaluation sets" in ended.err


def test_what_is_no_set_is_told(command, tmp_path):
    data = write(tmp_path / "a.jsonl", record("x"))
    (tmp_path / "bad.jsonl").write_text("{")
    assert command("check", data, "--against", str(tmp_path / "bad.jsonl")).code == 2
    assert command("check", data, "--against", "nowhere").code == 2


@cases("name, content",
    ("an empty file", "e.jsonl", b""),
    ("an empty list", "e.json", b"[]"),
    ("a head without rows", "e.csv", b"question,answer\n"),
    ("blank lines", "e.jsonl", b"\n\n"),
)  # fmt: skip
def test_a_set_without_rows_is_an_error(command, tmp_path, name, content):
    """A comparison with nothing finds nothing, which would look like a clean dataset."""
    (tmp_path / name).write_bytes(content)
    ended = command("check", write(tmp_path / "a.jsonl", record(QUESTION)), "--against", str(tmp_path / name))
    assert (ended.code, f"--against {tmp_path}/{name}: no rows" in ended.err) == (2, True)


def test_an_empty_file_in_a_folder_of_sets_is_none_of_its_rows(command, tmp_path):
    (tmp_path / "sets").mkdir()
    write(tmp_path / "sets/a.jsonl")
    write(tmp_path / "sets/b.jsonl", {"q": QUESTION})
    ended = command("check", write(tmp_path / "a.jsonl", record(QUESTION)), "--against", str(tmp_path / "sets"))
    assert (ended.code, "[eval-overlap]" in ended.out) == (3, True)


def test_what_is_met_is_what_a_plain_look_meets(command, tmp_path):
    """Of texts that share from 11 to 15 words at any place, those with 13 and more are found, in ASCII or not."""
    random = Random(7)
    rows, records, expected = [], [], []
    for number in range(120):
        mark = "\N{LATIN SMALL LETTER E WITH ACUTE}" if number % 3 == 0 else ""
        row, held = ([f"{name}{number}w{at}{mark}" for at in range(40)] for name in "ab")
        count, here, there = random.randint(11, 15), random.randint(0, 20), random.randint(0, 20)
        held[there : there + count] = row[here : here + count]
        rows.append({"q": " ".join(row)})
        records.append(record(", ".join(held).upper()))
        expected += [number + 1] if count >= 13 else []
    evaluation = write(tmp_path / "eval.jsonl", *rows)
    ended = command("check", write(tmp_path / "a.jsonl", *records), "--against", evaluation)
    found = [line for line in ended.out.splitlines() if "[eval-overlap]" in line]
    assert [int(line.split("a.jsonl:")[1].split("\t")[0]) for line in found] == expected
    assert [
        int(line.split(" with ")[1].split("eval.jsonl:")[1].split(":")[0].split(" ")[0]) for line in found
    ] == expected
