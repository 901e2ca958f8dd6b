"""The checks of recordings find faults that are planted in the truth or in the records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import table
from tests.agents.checks import Trained, _has_ids, _pairs, _recording, _repeated, _surroundings, wrong
from tests.agents.clients import clients
from tests.agents.scenarios import SCENARIOS, Step
from tests.agents.server import COMPACTING_USAGE, Exchange, ModelServer, marks
from tests.agents.test_protocols import BY_NAME, Plain
from tests.agents.undecidable import UNDECIDABLE, Cell

TOOLS = [{"type": "function", "function": {"name": "print", "parameters": {"type": "object", "properties": {}}}}]
STEPS = [Step("call"), Step("text"), Step("cut")]


class Wire:
    """A connection that takes what the server sends, and gives the reply back."""

    path = "/v1/chat/completions"

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body: Any = None

    def send_body(self, status: int, value: Any) -> None:
        self.body = value

    def send_events(self, events: list[str], *, held: bool) -> None:
        self.body = None


@pytest.fixture
def recording(tmp_path):
    """A session of three exchanges, of which the last one is truncated."""
    server = ModelServer("abc", {"u1": list(STEPS)}, Plain(tmp_path, tmp_path, ""), tmp_path / "log" / "gateway.jsonl")
    messages: list[Any] = [
        {"role": "system", "content": "You print words."},
        {"role": "user", "content": "Please continue with the work, uxabcx001"},
    ]
    for stream in (False, False, True):
        wire = Wire()
        server.answer(
            wire, BY_NAME["Chat"], {"model": "m", "messages": list(messages), "tools": TOOLS, "stream": stream}
        )
        reply = wire.body["choices"][0]["message"] if wire.body else {}
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": "qxabcx001-0"}
            for call in reply.get("tool_calls", ())
        ]
        messages += [reply, *(results or [{"role": "user", "content": "And then, uxabcx001?"}])]
    truth = {"exchanges": [each._asdict() for each in server.exchanges]}
    (tmp_path / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    return tmp_path


def planted(folder: Any, number: int, **members: Any) -> list[str]:
    """What the checks find once members of an exchange are replaced."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    truth["exchanges"][number - 1].update(members)
    (folder / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    return wrong(folder, Plain, "gateway")


def test_a_right_recording_has_no_faults(recording):
    assert wrong(recording, Plain, "gateway") == []


def test_a_truncated_reply_that_is_trained_on_is_found(recording):
    assert planted(recording, 2, status="cut") == ["reply 2 (main, cut) is trained on"]


def test_a_reply_that_is_not_trained_on_is_found(recording):
    assert planted(recording, 3, status="whole") == ["reply 3 (main, whole) is trained on 0 times"]


def test_another_history_is_found(recording):
    found = planted(recording, 2, before="u1 a1")
    assert found == ["reply 2 (main, whole) follows 'u1 a1 t1', not 'u1 a1'"]


def test_another_text_is_found(recording):
    (found,) = planted(recording, 2, text="No.")
    assert found.startswith("reply 2 (main, whole) has the text 'Reply qxabcx002")


def test_another_kind_is_found(recording):
    assert planted(recording, 1, kind="subagent") == ["reply 1 (subagent, whole) has the kind main"]


def test_other_calls_are_found(recording):
    (found,) = planted(recording, 1, calls=[["print", {"words": "other"}]])
    assert "has the calls" in found


def test_a_result_without_a_call_is_found():
    record = {"messages": [{"role": "tool", "tool_call_id": "c", "content": "apples"}]}
    assert list(_pairs(record)) == ["a result without a call: 'apples'"]


def test_two_records_that_end_with_one_reply_are_found():
    record = {"messages": [{"role": "assistant", "content": "Reply qxabcx001"}]}
    assert list(_repeated([record, record])) == ["the default run ends 2 records with qxabcx001"]


def test_a_recording_without_requests_is_wrong(tmp_path):
    (tmp_path / "truth.json").write_text('{"exchanges": []}', encoding="utf-8")
    assert wrong(tmp_path, Plain, "gateway") == ["the agent sent no request"]


def test_usage_that_makes_a_client_compact_is_near_the_limit(tmp_path):
    server = ModelServer("abc", {"u1": [Step("compact")]}, Plain(tmp_path, tmp_path, ""), tmp_path / "log.jsonl")
    wire = Wire()
    server.answer(
        wire, BY_NAME["Chat"], {"model": "m", "messages": [{"role": "user", "content": "uxabcx001"}], "tools": TOOLS}
    )
    assert wire.body["usage"]["prompt_tokens"] == COMPACTING_USAGE


def test_a_summary_quotes_prompts_but_no_reply(tmp_path):
    server = ModelServer("abc", {}, Plain(tmp_path, tmp_path, ""), tmp_path / "log.jsonl")
    wire = Wire()
    messages = [
        {"role": "user", "content": "Count, uxabcx001"},
        {"role": "assistant", "content": "Reply qxabcx007"},
        {"role": "user", "content": "Summarize the conversation."},
    ]
    server.answer(wire, BY_NAME["Chat"], {"model": "m", "messages": messages, "tools": TOOLS})
    (exchange,) = server.exchanges
    assert exchange.kind == "side"
    assert marks(BY_NAME["Chat"].turns({"messages": [wire.body["choices"][0]["message"]]})) == "a1 u1"


def test_every_scenario_begins_with_a_session_and_has_a_sentence():
    assert all(each.prompts[0].how in ("new", "terminal") and each.sentence for each in SCENARIOS)
    assert len({each.name for each in SCENARIOS}) == len(SCENARIOS)


def test_every_agent_has_a_package_and_known_abilities():
    needs = {need for each in SCENARIOS for need in each.needs}
    for client in clients().values():
        assert client.package
        assert client.binary
        assert client.abilities <= needs


def test_a_cell_names_its_sources_and_strikes_out_the_wrong_ones():
    assert table._cell("pi", "tools", {"files": [], "gateway": ["a fault"], "join": []}) == "F ~~G~~ J"
    assert table._cell("pi", "tools", None) == "-"


def test_a_cell_that_cannot_be_decided_is_not_counted_and_has_its_reason(monkeypatch):
    monkeypatch.setitem(UNDECIDABLE, Cell("pi", "tools", "files"), "The file has no times.")
    found = {"files": ["a fault"], "gateway": [], "join": ["a fault"]}
    assert table._cell("pi", "tools", found) == "(F) G ~~J~~"
    assert table.faults({"pi": table.Result(cells={"tools": found})}) == [Cell("pi", "tools", "join")]
    assert "| Pi | tools | The file has no times. |" in table._undecidable()


def test_no_cell_that_cannot_be_decided_is_right():
    results = table.load()
    assert not [cell for cell in UNDECIDABLE if not results[cell.agent].cells[cell.scenario][cell.source]]
    assert all(why.endswith(".") and len(why) < 200 for why in UNDECIDABLE.values())


def test_a_request_without_tools_may_have_those_of_its_session(recording):
    place = Trained("side", {}, [{"role": "system", "content": "You print words."}], ["print"])
    log = recording / "log" / "gateway.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    del lines[0]["request"]["tools"]
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    first, second, _ = [Exchange(**each) for each in json.loads((recording / "truth.json").read_text())["exchanges"]]
    seen = _recording(recording, Plain, "gateway", [first, second, second], [])
    assert list(_surroundings(first, place, seen)) == []
    unknown = "has tools that the model was not sent: write"
    assert list(_surroundings(first, place._replace(tools=["write"]), seen)) == [unknown]
    assert list(_surroundings(second, place._replace(tools=[]), seen)) == ["does not have these tools: print"]


@pytest.mark.parametrize("kinds, ids, is_found", [
    (["main", "side"], "aa", True), (["main", "side"], "ab", False), (["main", "subagent", "main"], "aba", False),
])  # fmt: skip
def test_ids_connect_a_session_unless_a_part_of_it_has_its_own(kinds, ids, is_found):
    exchanges = [Exchange(1, kind, "whole", "", "", "", [], "Chat") for kind in kinds]
    assert _has_ids([{"session_id": each} for each in ids], exchanges) == is_found
    assert not _has_ids([{} for _ in ids], exchanges)


def test_a_reader_without_a_recording_is_from_documentation():
    assert table.verification("no_agent", {}) == "from documentation"
