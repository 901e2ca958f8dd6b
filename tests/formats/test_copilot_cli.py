"""Copilot CLI: what events tell more than once, in pieces, or of others."""

from chatsquash.formats.agents import copilot_cli
from tests.formats.table import links, words

BEGIN = {"type": "session.start", "data": {"sessionId": "s", "producer": "copilot-agent", "version": 1}}


def event(of, agent=None, **data):
    return {"type": of, "timestamp": "2026-01-01T00:00:00Z", "data": data, **({"agentId": agent} if agent else {})}


def said(text, *calls, **more):
    asked = [{"toolCallId": call, "name": "ls", "arguments": {}} for call in calls]
    return event("assistant.message", content=text, toolRequests=asked, **more)


def gave(call, text):
    return event("tool.execution_complete", toolCallId=call, success=True, result={"content": text})


def test_pieces_of_an_answer_are_one_message_whatever_came_between_them():
    pieces = [said("One", "c1", apiCallId="k"), gave("c1", "1"), said(" two", "c2", apiCallId="k"), gave("c2", "2")]
    (found,) = copilot_cli.conversations([BEGIN, event("user.message", content="a"), *pieces])
    assert words([found]) == [["a", "One two", "1", "2"]]
    assert [call["id"] for call in found.messages[1]["tool_calls"]] == ["c1", "c2"]


def test_an_answer_behind_a_compaction_is_no_piece_of_one_before_it():
    done = event("session.compaction_complete", summaryContent="S")
    events = [event("user.message", content="a"), said("b", apiCallId="k"), done, said("c", apiCallId="k")]
    assert words(copilot_cli.conversations([BEGIN, *events])) == [["S", "c"], ["a", "b"]]


def test_a_prompt_of_the_system_that_is_told_for_each_run_stands_once():
    def prompt(text, role="system"):
        return event("system.message", content=text, role=role)

    turns = [prompt("S"), event("user.message", content="a"), said("b"), prompt("S"), prompt("D", "developer")]
    (found,) = copilot_cli.conversations([BEGIN, *turns, event("user.message", content="c"), said("d")])
    assert words([found]) == [["S", "a", "b", "D", "c", "d"]]
    assert found.messages[3]["role"] == "developer"


def test_a_sub_agent_has_the_call_that_began_it():
    inner = [event("user.message", "agent-7", content="look"), {**said("done"), "agentId": "agent-7"}]
    began = event("subagent.started", "agent-7", toolCallId="c1", agentName="explore")
    main, sub = copilot_cli.conversations([BEGIN, event("user.message", content="a"), said("b", "c1"), began, *inner])
    assert words([main, sub]) == [["a", "b"], ["look", "done"]]
    assert (sub.origin.kind, sub.origin.call, sub.origin.id) == ("subagent", "c1", "agent-7")


def test_what_the_model_saw_of_a_result_beside_its_text_is_counted():
    result = {
        "content": "x",
        "detailedContent": "y",
        "binaryResultsForLlm": [{"data": "AA==", "mimeType": "image/png"}],
    }
    done = event("tool.execution_complete", toolCallId="c1", success=True, result=result)
    (found,) = copilot_cli.conversations([BEGIN, event("user.message", content="a"), said("b", "c1"), done])
    assert found.origin.unread == {"tool.execution_complete.result.binaryResultsForLlm": 1}


def test_the_system_prompt_is_first_though_it_is_logged_after_the_prompt_and_a_new_one_replaces_it():
    def prompt(text):
        return event("system.message", content=text, role="system")

    turns = [
        event("user.message", content="a"),
        prompt("S"),
        said("b"),
        event("user.message", content="c"),
        prompt("T"),
    ]
    (found,) = copilot_cli.conversations([BEGIN, *turns, said("d")])
    assert words([found]) == [["T", "a", "b", "c", "d"]]
    assert found.messages[0]["role"] == "system"
    assert found.origin.unread == {"system prompt that was replaced": 1}


def test_what_came_while_a_compaction_ran_stays_after_the_summary():
    start, done = event("session.compaction_start"), event("session.compaction_complete", summaryContent="S")
    begin = [event("user.message", content="a"), said("b", "c1"), gave("c1", "1")]
    found = copilot_cli.conversations([BEGIN, *begin, start, said("c", "c2"), gave("c2", "2"), done, said("d")])
    assert words(found) == [["S", "c", "2", "d"], ["a", "b", "1", "c", "2"]]
    assert links(found) == [("1.2", "compacted", "1.1"), ("1.1", "main", None)]
    late = copilot_cli.conversations([BEGIN, *begin[:2], start, begin[2], done, said("d")])
    assert words(late)[0] == ["S", "b", "1", "d"]


def test_a_cancelled_compaction_changes_nothing():
    start = event("session.compaction_start")
    done = event("session.compaction_complete", success=False, outcome="cancelled")
    events = [event("user.message", content="a"), start, said("b"), done, event("user.message", content="c"), said("d")]
    (found,) = copilot_cli.conversations([BEGIN, *events])
    assert words([found]) == [["a", "b", "c", "d"]]
