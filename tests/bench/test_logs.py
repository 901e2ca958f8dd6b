"""The logs that stand for real ones have what makes these slow."""

import json
from dataclasses import replace

import pytest

from bench.documents import DOCUMENTS
from bench.generate import PROFILES, generate
from chatsquash import Options, convert

SESSIONS = 100


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """By profile, what is counted over a few of its sessions."""
    folder = tmp_path_factory.mktemp("logs")
    for name in ("standard", "real"):
        logs = generate(name, replace(PROFILES[name], sessions=SESSIONS, requests=8), folder)
        convert(logs, folder / f"out-{name}", Options(anonymize_key=b"a key for tests, and for nothing else"))
    found = {name: json.loads((folder / f"out-{name}/run.json").read_text()) for name in ("standard", "real")}
    return {name: run["counts"] for name, run in found.items()}


def test_the_prompt_of_goose_and_its_information_are_there_to_be_cleaned(counts):
    assert counts["real"]["cleaned"]["system_prompts"] == SESSIONS
    assert counts["real"]["cleaned"]["info_messages"] > 0
    assert counts["real"]["cleaned"]["title_requests"] > 0
    assert not any(counts["standard"]["cleaned"].values())


def test_there_are_more_addresses_and_failures_than_in_others_and_empty_results(counts):
    assert counts["real"]["addresses"] > 2 * counts["standard"]["addresses"]
    failed = [counts[name]["findings"]["warning"].get("tool-result-failed", 0) for name in ("real", "standard")]
    assert failed[0] > 2 * failed[1]
    assert counts["real"]["findings"]["warning"]["tool-result-empty"] > 0


def test_sessions_grow_as_those_of_others_do(counts):
    """All but what ends a session is what the last line repeats."""
    assert counts["real"]["lines"]["superseded"] == counts["standard"]["lines"]["superseded"]
    assert counts["real"]["sessions"]["written"] == SESSIONS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_file_of_many_sessions_has_the_records_of_the_same_sessions_in_files_of_their_own(name, tmp_path):
    few = {each: replace(PROFILES[each], sessions=5) for each in ("tiny", name)}
    records = {}
    for each, profile in few.items():
        options = Options(sessions_by="id", group_by="none", anonymize=False)
        convert(generate(each, profile, tmp_path), tmp_path / f"out-{each}", options)
        records[each] = sorted((tmp_path / f"out-{each}/conversations.jsonl").read_bytes().splitlines())
    assert len(records["tiny"]) == 5
    assert records[name] == records["tiny"]
