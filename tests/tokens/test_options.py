"""Options that token ids contradict are refused with the reason, and datasets of ids where text is needed."""

import json
import os
import subprocess
import sys

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.dataset.option_rules import refuse_wrong

from .client import Client, user
from .server import Server, train

TOKENS = {"samples": "tokens", "preset": "hf"}
REFUSED = [
    ({"preset": "chat"}, "--samples tokens: not supported by --preset chat; choose hf"),
    ({"preset": "openai"}, "--samples tokens: not supported by --preset openai; choose hf"),
    ({"sample_shape": "messages"}, "--sample-shape: --samples tokens writes token ids as logged"),
    ({"loss": "weight"}, "--loss: --samples tokens writes token ids as logged"),
    ({"pairs": "logged"}, "--pairs: --samples tokens writes token ids as logged"),
    ({"keep": "logprobs"}, "--keep: --samples tokens writes token ids as logged"),
    ({"reasoning": "drop"}, "--reasoning: --samples tokens writes token ids as logged"),
    ({"restore": "all"}, "--restore: --samples tokens writes token ids as logged"),
    ({"merge_consecutive": True}, "--merge-consecutive: --samples tokens writes token ids as logged"),
    ({"system": "drop"}, "--system: --samples tokens writes token ids as logged"),
    ({"max_chars": 100}, "--max-chars: --samples tokens writes token ids as logged"),
    ({"redact": "secrets"}, "--samples tokens: token ids cannot be redacted; remove the options for redaction"),
    ({"deny": b"harbour"}, "--samples tokens: token ids cannot be redacted; remove the options for redaction"),
    ({"too_long": "front", "max_tokens": 100}, "--too-long front: --samples tokens supports drop and cut"),
    ({"duplicates": "prefix"}, "--duplicates prefix: --samples tokens supports exact and keep"),
    ({"duplicates": "ids"}, "--duplicates ids: --samples tokens supports exact and keep"),
    ({"template": b'[{"default": "x"}, {}]'}, "--template with --samples tokens has no effect without --tokenizer"),
    ({"too_long": "cut"}, "too_long='cut' has no effect without max_tokens"),
]


@pytest.mark.parametrize(
    "given, message", REFUSED, ids=[next(iter(given)) + str(at) for at, (given, _) in enumerate(REFUSED)]
)
def test_a_contradiction_is_refused_with_the_reason(given, message):
    with pytest.raises(UsageError) as problem:
        refuse_wrong(Options(**{**TOKENS, "anonymize_key": b"k" * 16, **given}))
    assert str(problem.value).startswith(message)


@pytest.mark.parametrize("given", [{}, {"max_tokens": 100}, {"max_tokens": 100, "too_long": "cut"}, {"metadata": True}])
def test_other_options_are_accepted(given):
    refuse_wrong(Options(**{**TOKENS, "anonymize": False, **given}))


@pytest.fixture
def dataset(tmp_path, request):
    client = Client(Server(train()))
    client.ask(user("Which test fails?"), text="test_sum fails.")
    options = Options(**TOKENS, anonymize=False, format=request.param)
    convert(client.write(tmp_path / "logs"), tmp_path / "out", options)
    return tmp_path / "out"


def run(folder, *arguments):
    command = [sys.executable, "-m", "chatsquash", *map(str, arguments)]
    environment = {**os.environ, "HOME": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


COMMANDS = [
    (["check", "--redact", "secrets"], "token ids have no text for --redact; remove the option"),
    (["redact", "--redact", "secrets", "--output"], "token ids cannot be searched"),
]


@pytest.mark.parametrize("dataset", ["jsonl", "parquet"], indirect=True)
@pytest.mark.parametrize("command, message", COMMANDS, ids=[command[0] for command, _ in COMMANDS])
def test_a_dataset_of_ids_is_refused_where_text_is_searched(dataset, command, message):
    name, *rest = command
    done = run(dataset.parent, name, dataset, *rest, *([dataset.parent / "clean"] if "--output" in rest else []))
    assert message in done.stdout + done.stderr
    assert done.returncode != 0
    written = [*(dataset.parent / "clean").glob("**/*.jsonl")]
    assert not any(file.read_text() for file in written)


@pytest.mark.parametrize("dataset", ["jsonl", "parquet"], indirect=True)
def test_a_dataset_of_ids_is_verified(dataset):
    assert run(dataset.parent, "verify", dataset).returncode == 0


def test_a_trainer_that_is_configured_for_messages_is_refused(tmp_path):
    client = Client(Server(train()))
    client.ask(user("Which test fails?"), text="test_sum fails.")
    logs = client.write(tmp_path / "logs")
    done = run(tmp_path, "convert", logs, "-o", tmp_path / "out", "--samples", "tokens", "--for", "trl")
    assert done.returncode == 2
    assert "--for: it configures trainers for messages" in done.stderr


HOSTILE = ["[]", "null", '"1"', "[1.5]", "[true]", "[-1]", "[2147483648]", '["1"]', "[[1]]", "{}", "1e400", "[null]"]


@pytest.mark.parametrize("wrong", HOSTILE)
@pytest.mark.parametrize("place", ["prompt", "reply", "both"])
def test_values_that_are_no_ids_are_missing_ids(wrong, place, tmp_path):
    client = Client(Server(train()))
    client.ask(user("Which test fails?"), text="test_sum fails.")
    response = client.lines[0]["response"]
    if place != "reply":
        response["prompt_token_ids"] = "WRONG"
    if place != "prompt":
        response["choices"][0]["token_ids"] = "WRONG"
        response["choices"][0]["logprobs"] = "WRONG"
    client.write(tmp_path / "logs")
    log = tmp_path / "logs" / "s1.jsonl"
    log.write_text(log.read_text().replace('"WRONG"', wrong))
    summary = convert(tmp_path / "logs", tmp_path / "out", Options(**TOKENS, anonymize=False))
    assert summary.counts()["findings"]["error"]["no-sample"] == 1
    assert summary.counts()["replies"]["lost"] == {"no-token-ids": 1}


@pytest.mark.parametrize(
    "wrong", [*(each for each in HOSTILE if "e4" not in each), '[{"logprob": "x"}]', '[{"logprob": true}]']
)
def test_other_log_probabilities_are_null(wrong, tmp_path):
    client = Client(Server(train()))
    client.ask(user("Which test fails?"), text="test_sum fails.")
    client.lines[0]["response"]["choices"][0]["logprobs"] = {"content": "WRONG"}
    client.write(tmp_path / "logs")
    log = tmp_path / "logs" / "s1.jsonl"
    log.write_text(log.read_text().replace('"WRONG"', wrong))
    convert(tmp_path / "logs", tmp_path / "out", Options(**TOKENS, anonymize=False))
    (file,) = (tmp_path / "out" / "data").iterdir()
    assert [json.loads(line)["logprobs"] for line in file.read_bytes().splitlines()] == [None]
