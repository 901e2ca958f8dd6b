"""Replies of agents that were truncated or failed, each known by what its file says of it.

The shapes are those of recordings of the agents, with other texts.
"""

import pytest

from tests.formats.agent_records import records

# Pi


def pi(*messages):
    """The lines of a Pi session: each message is a role, a text, and for replies usage and the reason to stop."""
    lines = [{"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}]
    for number, (role, said, *more) in enumerate(messages):
        message = {"role": role, "content": [{"type": "text", "text": said}], "timestamp": 1767225600000 + number}
        if more:
            used, stop, *model = more
            usage = {"input": used, "output": used, "cacheRead": 0, "cacheWrite": 0}
            message |= {"model": (model or ["m"])[0], "usage": usage, "stopReason": stop}
        entry = {"type": "message", "id": str(number), "parentId": str(number - 1) if number else None}
        lines.append({**entry, "message": message})
    return lines


def test_a_failed_reply_of_pi_is_not_trained_on_and_not_part_of_what_follows():
    last = pi(("user", "a"), ("assistant", "b", 9, "stop"), ("user", "c"), ("assistant", "d", 9, "error"))
    assert records(last) == [("main", ["a", "b*", "c", "d"])]
    again = pi(("user", "a"), ("assistant", "b", 0, "error"), ("assistant", "c", 9, "stop"), ("user", "d"),
               ("assistant", "e", 9, "aborted"), ("user", "f"), ("assistant", "g", 9, "stop"))  # fmt: skip
    assert records(again) == [("main", ["a", "c*", "d", "f", "g*"])]


def test_a_reply_of_pi_without_usage_is_truncated_if_its_model_reports_usage():
    turns = [("user", "a"), ("assistant", "b", 0, "stop"), ("user", "c"), ("assistant", "d", 9, "stop")]
    assert records(pi(*turns)) == [("main", ["a", "b", "c", "d*"])]
    local = [("user", "a"), ("assistant", "b", 0, "stop", "local"), ("user", "c"), ("assistant", "d", 9, "stop")]
    assert records(pi(*local)) == [("main", ["a", "b*", "c", "d*"])]


# Qwen Code


def qwen(*rows):
    """The lines of a Qwen Code session: each is a role, a text, and for replies the count of tokens."""
    lines = []
    for number, (role, said, *used) in enumerate(rows):
        parts = [{"text": said}]
        line = {"uuid": str(number), "parentUuid": str(number - 1) if number else None, "sessionId": "q", "type": role}
        line["message"] = {"role": "model" if role == "assistant" else "user", "parts": parts}
        if used and used[0]:
            line["usageMetadata"] = {"promptTokenCount": used[0], "candidatesTokenCount": 5}
        lines.append(line | ({"model": "qwen"} if role == "assistant" else {}))
    return lines


def test_a_reply_of_qwen_without_usage_is_truncated_and_was_not_sent_with_its_retry():
    lines = qwen(("user", "a"), ("assistant", "b", 0), ("assistant", "c", 0), ("assistant", "d", 9))
    assert records(lines) == [("main", ["a", "d*"])]


def test_a_truncated_reply_of_qwen_before_a_prompt_was_sent_with_it():
    lines = qwen(("user", "a"), ("assistant", "b", 0), ("user", "c"), ("assistant", "d", 9))
    assert records(lines) == [("main", ["a", "b", "c", "d*"])]


def test_where_no_reply_of_qwen_has_usage_none_is_truncated():
    assert records(qwen(("user", "a"), ("assistant", "b", 0))) == [("main", ["a", "b*"])]
    telemetry = {"uuid": "t", "parentUuid": "1", "sessionId": "q", "type": "system", "subtype": "ui_telemetry"}
    telemetry["systemPayload"] = {"uiEvent": {"event.name": "qwen-code.api_response", "input_token_count": 9}}
    assert records([*qwen(("user", "a"), ("assistant", "b", 0)), telemetry]) == [("main", ["a", "b"])]


# Continue


def test_a_reply_of_continue_without_usage_is_truncated_if_others_have_some():
    def item(role, said, **more):
        return {"message": {"role": role, "content": said, **more}, "contextItems": []}

    used = {"usage": {"promptTokens": 9, "completionTokens": 5}}
    items = [item("user", "a"), item("assistant", "b"), item("user", "c"), item("assistant", "d", **used)]
    session = {"sessionId": "c", "title": "t", "workspaceDirectory": "/w", "history": items}
    assert records([session]) == [("main", ["a", "b", "c", "d*"])]
    session["history"] = items[:2]
    assert records([session]) == [("main", ["a", "b*"])]


# OpenCode


@pytest.mark.parametrize(
    "sentence, own, trained",
    [
        ("a complete reply is trained on", {"finish": "stop", "time": {"created": 2, "completed": 3}}, "b*"),
        ("its stream ended without a reason", {"finish": "unknown", "time": {"created": 2, "completed": 3}}, "b"),
        ("it was interrupted", {"time": {"created": 2}}, "b"),
        ("an older version stores no reason", {"time": {"created": 2, "completed": 3}}, "b*"),
    ],
)
def test_a_reply_of_opencode_is_truncated_without_an_end(sentence, own, trained):
    asked = {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}}}
    asked["parts"] = [{"id": "prt_1", "type": "text", "text": "a"}]
    said = {"info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "modelID": "m", **own}}
    said["parts"] = [{"id": "prt_2", "type": "text", "text": "b"}]
    export = {
        "info": {"id": "ses_1", "title": "t", "projectID": "p", "time": {"created": 1}},
        "messages": [asked, said],
    }
    assert records([export]) == [("main", ["a", trained])]


# Cline


def cline(*messages):
    """The messages of a session of Cline's command line: each is a role, a text, and further members."""
    made = [{"role": role, "content": [{"type": "text", "text": said}], **more} for role, said, more in messages]
    return [{"version": 1, "agent": "lead", "sessionId": "k", "messages": made}]


METRICS = {"metrics": {"inputTokens": 9, "outputTokens": 5}}
SHOWN = {"metadata": {"displayOnly": True, "displayRole": "error"}}


def test_a_reply_of_cline_without_metrics_is_truncated_and_what_is_only_displayed_is_no_reply():
    whole = [("user", "a", {}), ("assistant", "b", METRICS), ("user", "c", {}), ("assistant", "d", {})]
    assert records(cline(*whole)) == [("main", ["a", "b*", "c", "d"])]
    alone = [("user", "a", {}), ("assistant", "b", {}), ("assistant", "Stream ended.", SHOWN)]
    assert records(cline(*alone)) == [("main", ["a", "b"])]
    assert records(cline(*whole[:2], ("assistant", "Error", SHOWN), *whole[2:])) == [("main", ["a", "b*", "c", "d"])]
    assert records(cline(("user", "a", {}), ("assistant", "b", {}))) == [("main", ["a", "b*"])]


def test_prompts_of_cline_are_as_they_were_sent():
    wrapped = '<user_input mode="act">Fix <user_input> in it</user_input>'
    assert records(cline(("user", wrapped, {}), ("assistant", "b", METRICS))) == [
        ("main", ["Fix <user_input> in it", "b*"])
    ]
