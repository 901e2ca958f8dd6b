"""``check`` and ``stats`` of samples of token ids."""

import json
import re

import polars as pl
import pytest

from chatsquash import Options, check, convert, stats
from chatsquash.core.errors import UsageError
from chatsquash.results.stats import stats as count
from chatsquash.results.stats_table import as_json
from tests.conftest import cases
from tests.tokens.client import Client, call, user
from tests.tokens.server import Server, train

GOOD = {"input_ids": [5, 7, 9], "labels": [-100, 7, 9], "completion_mask": [0, 1, 1], "logprobs": [0.0, -0.5, -2]}


def write(folder, *rows):
    path = folder / "data.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return str(path)


@pytest.fixture(scope="module", params=["jsonl", "jsonl.gz", "parquet"])
def dataset(request, tmp_path_factory):
    """A dataset of two samples, whose second turn the client rewrote."""
    folder = tmp_path_factory.mktemp("tokens")
    client = Client(Server(train()))
    client.ask(user("Which test fails?"), text=call())
    client.ask(client.result(), text="test_sum fails.")
    client.messages[1] = user("Which tests fail?")
    client.ask(user("Mend it."), text="It is mended.")
    options = Options(samples="tokens", preset="hf", anonymize=False, format=request.param, metadata=True)
    convert(client.write(folder / "logs"), folder / "out", options)
    return folder / "out"


def rows(dataset):
    (file,) = dataset.glob("data/*")
    return (pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_ndjson(file)).to_dicts()


def test_the_samples_of_a_run_have_no_findings(dataset):
    assert [*check(str(dataset))] == []


def test_stats_count_samples_and_ids(dataset):
    found = as_json(stats(str(dataset)))
    sizes = [len(row["input_ids"]) for row in rows(dataset)]
    trained = [sum(row["completion_mask"]) for row in rows(dataset)]
    assert (found["records"], found["token_samples"], found["unreadable"]) == (2, 2, 0)
    assert list(found["spreads"]) == ["token_ids", "trained_ids"]
    assert (found["spreads"]["token_ids"]["total"], found["spreads"]["token_ids"]["max"]) == (sum(sizes), max(sizes))
    assert (found["spreads"]["trained_ids"]["total"], found["spreads"]["trained_ids"]["median"]) == (sum(trained), min(trained))  # fmt: skip
    text = str(stats(str(dataset)))
    assert re.search(r"token ids +\d+", text)
    assert "samples of token ids" in text


@cases(
    "change, reason",
    ("a shorter list", {"labels": [-100, 7]}, "labels has 2 items, but input_ids has 3"),
    ("a longer list of numbers", {"logprobs": [0, -1, -1, -1]}, "logprobs has 4 items, but input_ids has 3"),
    ("a label that is another id", {"labels": [-100, 7, 8]}, "labels[2] is 8 instead of 9"),
    ("a label outside of the mask", {"labels": [5, 7, 9]}, "labels[0] is 5 instead of -100"),
    ("a missing label in the mask", {"labels": [-100, 7, -100]}, "labels[2] is -100 instead of 9"),
    ("a negative id", {"input_ids": [5, -7, 9]}, "input_ids[1] is not a token id"),
    ("a number with a fraction", {"input_ids": [5, 7.0, 9]}, "input_ids[1] is not a token id"),
    ("true instead of an id", {"input_ids": [True, 7, 9]}, "input_ids[0] is not a token id"),
    ("another negative label", {"labels": [-1, 7, 9]}, "labels[0] is not a token id or -100"),
    ("a mask of booleans", {"completion_mask": [False, True, True]}, "completion_mask[0] is not 0 or 1"),
    ("a mask of other numbers", {"completion_mask": [0, 1, 2]}, "completion_mask[2] is not 0 or 1"),
    ("no trained id", {"labels": [-100] * 3, "completion_mask": [0] * 3}, "none of its token ids are trained on"),
    ("no ids", {"input_ids": [], "labels": [], "completion_mask": [], "logprobs": []}, "none of its token ids are trained on"),
    ("null instead of ids", {"input_ids": None}, "input_ids is null"),
    ("text instead of ids", {"input_ids": "5 7 9"}, "input_ids is a string"),
    ("null instead of a number", {"logprobs": [0, None, -1]}, "logprobs[1] is not a finite number"),
    ("a huge integer", {"logprobs": [0, -(10**400), -1]}, "logprobs[1] is not a finite number"),
    ("a number of an id that is not trained on", {"logprobs": [-3, -1, -1]}, "logprobs are not 0 for ids that are not trained on"),
    ("neither labels nor mask", {"labels": None, "completion_mask": None}, "labels and completion_mask are missing"),
)  # fmt: skip
def test_a_damaged_sample_is_an_error_with_its_reason(tmp_path, change, reason):
    path = write(tmp_path, GOOD, {**GOOD, **change})
    (finding,) = check(path)
    assert (finding.code, finding.severity, finding.line) == ("bad-tokens", "error", 2)
    assert finding.text == f"not a sample of token ids: {reason}; convert again with --samples tokens"
    found = stats(path)
    assert (found.records, found.unreadable) == (1, 1)


@cases(
    "change",
    ("without log probabilities", {"logprobs": None}),
    ("only a mask", {"labels": None}),
    ("only labels", {"completion_mask": None}),
    ("all ids trained on", {"labels": [5, 7, 9], "completion_mask": [1, 1, 1]}),
    ("other members", {"attention_mask": [1, 1, 1], "session_id": "s"}),
)
def test_a_sample_of_other_programs_is_read(tmp_path, change):
    path = write(tmp_path, {**GOOD, **change})
    assert [*check(path)] == []
    assert stats(path).token_samples == 1


def test_a_mixed_dataset_has_both_measures(tmp_path):
    path = write(
        tmp_path, GOOD, {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    )
    found = stats(path)
    assert (found.records, found.token_samples, found.spreads["messages"].total) == (2, 1, 2)
    assert found.spreads["trained ids"].total == 2


def test_equal_samples_are_duplicates(tmp_path):
    assert stats(write(tmp_path, GOOD, GOOD)).duplicates == 1


def test_a_long_sample_takes_linear_time(tmp_path):
    many = 1_000_000
    row = {"input_ids": [7] * many, "labels": [7] * many, "completion_mask": [1] * many, "logprobs": None}
    assert [*check(write(tmp_path, row))] == []


def test_texts_cannot_be_searched_in_an_evaluation_set_of_ids(tmp_path, command):
    path = write(tmp_path, GOOD)
    ended = command("check", path, "--against", path)
    assert (ended.code, ended.err) == (2, f"error: --against {path}:1: token ids have no words to compare; use texts\n")


def test_a_tokenizer_is_refused(tmp_path):
    path = write(tmp_path, GOOD)
    with pytest.raises(UsageError, match="its token ids are counted as they are"):
        count([path], lambda record: 0)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_parquet_may_contain_numbers_that_json_has_not(tmp_path, number):
    pl.DataFrame([{**GOOD, "logprobs": [0.0, number, -2.0]}]).write_parquet(tmp_path / "data.parquet")
    (finding,) = check(str(tmp_path / "data.parquet"))
    assert "logprobs[1] is not a finite number" in finding.text
