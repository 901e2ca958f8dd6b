"""The functions of the Python API do what the commands do, and their errors name parameters."""

import json
import pickle

import pytest

import chatsquash
from chatsquash import Options
from chatsquash.core.errors import ChatsquashError, UsageError
from tests.conftest import assistant, cases, log_line, user, write_log

TOKEN = "ghp_" + "Zq8mT2vKx7Lr4NwP9sYb3HdJf6Gc1AeUi5Oo"


@pytest.fixture
def dataset(here):
    for name in ("s1", "s2"):
        write_log(here / f"logs/{name}.jsonl", log_line(f"I am {name}", session_id=name, reply=assistant("done")))
    chatsquash.convert("logs", "out", Options(anonymize=False, format="jsonl"))
    return here / "out"


def test_stats_are_the_counts_that_the_command_prints(dataset, command):
    counted = chatsquash.stats("out")
    assert (counted.records, counted.roles["user"]) == (2, 2)
    assert str(counted) == command("stats", "out").out.rstrip("\n")
    assert chatsquash.stats([dataset, str(dataset)]).records == 4


def test_check_returns_findings_and_searches_for_secrets_if_options_say_so(here):
    (here / "data.jsonl").write_text(json.dumps({"messages": [user(f"use {TOKEN}")], "tools": []}) + "\n")
    assert "secret-found" not in [finding.code for finding in chatsquash.check("data.jsonl")]
    wanted = Options(redact="secrets", anonymize=False)
    assert "secret-found" in [finding.code for finding in chatsquash.check("data.jsonl", wanted)]


def test_redact_writes_a_copy_and_counts_what_it_replaced(here):
    (here / "data.jsonl").write_text(json.dumps({"messages": [user(f"use {TOKEN}")], "tools": []}) + "\nnot JSON\n")
    problems = []
    done = chatsquash.redact("data.jsonl", here / "clean.jsonl", Options(redact="secrets"), on_finding=problems.append)
    assert (done.written, done.secrets, done.left_out, len(problems)) == (1, 1, 1, 1)
    assert TOKEN not in (here / "clean.jsonl").read_text()


def test_verify_compares_files_and_logs(dataset):
    assert chatsquash.verify(dataset).problems == []
    assert chatsquash.verify(dataset, compare_logs=True).logs == 2
    (dataset.parent / "logs/s1.jsonl").write_text("")
    assert len(chatsquash.verify(dataset, compare_logs=True).problems) == 1


def test_a_dry_run_of_push_returns_what_would_be_sent(dataset):
    done = chatsquash.push(dataset, "hf://datasets/me/agents", dry_run=True)
    assert any("README.md" in line for line in done.plan)
    assert "nothing was sent" in done.message


def test_a_session_prints_as_a_conversation(here):
    write_log(here / "logs/a.jsonl", log_line("What is it?", session_id="s1", reply=assistant("A test.")))
    write_log(here / "logs/b.jsonl", "not JSON")
    written, refused = chatsquash.read("logs", Options(anonymize=False))
    assert str(written) == "session s1\n[0] user\n    What is it?\n[1] assistant\n    A test."
    assert str(refused).endswith("no record (unknown-format)")


@cases(
    "call, expected",
    (lambda: chatsquash.convert("other", "out"), "replace=True"),
    (lambda: chatsquash.redact("out/data", "clean", Options(anonymize=False)), "redact secrets"),
    (lambda: list(chatsquash.read("logs", Options(samples="auto"))), "template"),
    (lambda: chatsquash.stats("out", template="missing.jinja"), "tokenizer"),
)
def test_errors_name_parameters(dataset, call, expected):
    write_log(dataset.parent / "other/a.jsonl", log_line("Another log", session_id="s3"))
    with pytest.raises(ChatsquashError) as raised:
        call()
    assert expected in str(raised.value)
    assert "--" not in str(raised.value)


def test_functions_can_be_sent_to_other_processes():
    for name in ("convert", "read", "check"):
        assert pickle.loads(pickle.dumps(getattr(chatsquash, name))) is getattr(chatsquash, name)


def test_an_unknown_trainer_without_a_template_is_refused(dataset):
    with pytest.raises(UsageError):
        chatsquash.check(dataset, trainer="trl")
