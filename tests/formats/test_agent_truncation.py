"""Replies of agents that were truncated or failed, each known by what its file says of it.

The shapes are those of recordings of the agents, with other texts.
"""

import pytest

from chatsquash.formats.agents import openhands
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


def process(number, prompt):
    """A line of telemetry with the id of a prompt."""
    event = {"event.name": "qwen-code.api_response", "input_token_count": 9, "prompt_id": prompt}
    return {"uuid": f"t{number}", "sessionId": "q", "type": "system", "subtype": "ui_telemetry",
            "systemPayload": {"uiEvent": event}}  # fmt: skip


def in_processes(lines, *prompts):
    """The lines with telemetry after those at some places: pairs of a place and the id of a prompt."""
    made = [*lines]
    for place, prompt in sorted(prompts, reverse=True):
        made.insert(place, {**process(place, prompt), "parentUuid": made[place - 1]["uuid"]})
        if place + 1 < len(made):
            made[place + 1] = {**made[place + 1], "parentUuid": f"t{place}"}
    return made


def test_a_reply_of_qwen_to_the_same_request_as_the_one_before_replaces_it():
    lines = qwen(("user", "a"), ("assistant", "b", 9), ("assistant", "c", 9), ("user", "d"), ("assistant", "e", 20))
    assert records(lines) == [("main", ["a", "c*", "d", "e*"])]


def test_a_reply_of_qwen_that_was_continued_after_a_retry_is_not_trained_on():
    lines = qwen(("user", "a"), ("assistant", "b", 9), ("assistant", "c", 9), ("assistant", "d", 30), ("user", "e"),
                 ("assistant", "f", 40))  # fmt: skip
    assert records(lines) == [("main", ["a", "c", "d", "e", "f*"])]


RETRIED = qwen(
    *(("user", "a"), ("assistant", "b", 0), ("assistant", "c", 9)),
    *(("user", "d"), ("assistant", "e", 0), ("assistant", "f", 20), ("user", "g"), ("assistant", "h", 30)),
)
FIRST, SECOND = ["a", "c*"], ["a", "b", "c", "d", "f*"]


@pytest.mark.parametrize(
    "sentence, prompts, expected",
    [
        ("prompts of one process", ("q########1", "q########2", "q########3"), [["a", "c*", "d", "f*", "g", "h*"]]),
        ("each process answers a prompt", ("1f", "2f", "3f"), [["a", "b", "c", "d", "e", "f", "g", "h*"], FIRST, SECOND]),
        ("a resume after one prompt", ("q########1", "q########1", "q########2"), [["a", "b", "c", "d", "f*", "g", "h*"], FIRST]),
        ("a resume after two prompts", ("q########1", "q########2", "q########1"), [["a", "b", "c", "d", "e", "f", "g", "h*"], ["a", "c*", "d", "f*"]]),
        ("another agent's requests", ("q########1", "q#memory#1", "q########2"), [["a", "c*", "d", "f*", "g", "h*"]]),
    ],
)  # fmt: skip
def test_a_process_of_qwen_that_resumes_sends_what_an_earlier_one_replaced(sentence, prompts, expected):
    lines = in_processes(RETRIED, *zip((1, 4, 7), prompts, strict=True))
    assert records(lines) == [("branch" if number else "main", each) for number, each in enumerate(expected)]


def test_a_summary_of_qwen_that_was_written_late_does_not_repeat_the_reply_after_it():
    lines = qwen(("user", "a"), ("assistant", "b", 9), ("user", "c"), ("system", "", 0), ("assistant", "d", 9))
    turns = [("user", "S"), ("model", "Got it."), ("user", "c"), ("model", "d")]
    history = [{"role": role, "parts": [{"text": said}]} for role, said in turns]
    lines[3] |= {"subtype": "chat_compression", "systemPayload": {"compressedHistory": history}}
    assert records(lines) == [("compacted", ["S", "Got it.", "c", "d*"]), ("main", ["a", "b*"])]


# Continue


def test_the_command_line_of_continue_spells_usage_as_the_service_does():
    def item(role, said, **more):
        return {"message": {"role": role, "content": said, **more}, "contextItems": []}

    used = {"usage": {"prompt_tokens": 9, "completion_tokens": 5, "model": "m"}}
    items = [item("user", "a"), item("assistant", "b"), item("user", "c"), item("assistant", "d", **used)]
    assert records([{"sessionId": "c", "history": items}]) == [("main", ["a", "b", "c", "d*"])]


def test_a_reply_of_continue_with_as_many_tokens_as_its_prompt_log_allows_reached_the_limit():
    usage, log = {"promptTokens": 9, "completionTokens": 5}, {"completionOptions": {"maxTokens": 5}}
    items = [{"message": {"role": "user", "content": "a"}}]
    items.append({"message": {"role": "assistant", "content": "b", "usage": usage}, "promptLogs": [log]})
    assert records([{"sessionId": "c", "history": items}]) == [("main", ["a", "b"])]


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


# Kimi CLI


def test_a_count_of_tokens_of_kimi_belongs_to_the_reply_of_its_step():
    begun = [{"role": "_system_prompt", "content": "S"}, {"role": "_checkpoint", "id": 0}]
    used, novel = {"role": "_usage", "token_count": 9}, {"role": "_note", "text": "n"}

    def step(number, said, *after):
        prompt = {"role": "user", "content": f"p{number}"}
        checkpoint = {"role": "_checkpoint", "id": number}
        return [prompt, checkpoint, used, {"role": "assistant", "content": said}, *after]

    rows = [*step(1, "a", novel, used), *step(2, "b"), *step(3, "c", used, novel), *step(4, "d", novel, novel, used)]
    texts = ["S", "p1", "a*", "p2", "b", "p3", "c*", "p4", "d*"]
    assert records([*begun, *rows]) == [("main", texts)]


# Gemini CLI


def gemini(*messages):
    """A session: each message is a type and a text."""
    lines = [{"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}]
    for number, (of, said) in enumerate(messages):
        tokens = {"tokens": {"input": 9, "output": 5}} if of == "gemini" else {}
        lines.append({"id": str(number), "timestamp": "2026-01-01T00:00:01Z", "type": of, "content": said, **tokens})
    return lines


@pytest.mark.parametrize(
    "notice", ["Response truncated due to token limits.", "Response stopped due to safety reasons."]
)
def test_a_notice_of_gemini_says_which_reply_ended_early(notice):
    said = [("user", "a"), ("gemini", "b"), ("user", "c"), ("gemini", "d"), ("user", "e")]
    expected = [("main", ["a", "b*", "c", "d"])]
    shown = ("info", f"\u26a0\ufe0f  {notice}")
    assert records(gemini(*said[:3], shown, *said[3:])) == expected
    assert records(gemini(*said[:4], shown, said[4])) == expected
    assert records(gemini(*said[:4], shown)) == expected
    assert records(gemini(*said[:4], ("info", "An update is there."))) == [("main", ["a", "b*", "c", "d*"])]


def test_a_reply_of_gemini_whose_call_was_never_written_is_in_no_record_as_it_was_not_sent_again():
    said = [("user", "a"), ("gemini", "b"), ("user", "c"), ("gemini", ""), ("user", "d"), ("gemini", "e")]
    assert records(gemini(*said)) == [("main", ["a", "b*", "c", "d", "e*"])]
    assert records(gemini(*said[:4])) == [("main", ["a", "b*"])]


# Copilot CLI


def copilot(*events):
    """The events of a session: each is a type with members of its data."""
    begun = {"type": "session.start", "data": {"sessionId": "s", "producer": "copilot-agent", "version": 1}}
    return [begun, *({"type": of, "timestamp": "2026-01-01T00:00:00Z", "data": data} for of, data in events)]


def turn(number, said, reason="stop"):
    """The events of a turn, without the reply if it has no text."""
    usage = {"apiCallId": f"k{number}", "finishReason": reason, "outputTokens": 5, "inputTokens": 9,
             "interactionType": "conversation-agent"}  # fmt: skip
    message = [("assistant.message", {"content": said, "apiCallId": f"k{number}"})] if said else []
    turn_id = {"turnId": str(number)}
    return [("assistant.turn_start", turn_id), ("session.usage_record", {"usage": usage}), *message,
            ("assistant.turn_end", turn_id)]  # fmt: skip


ASKED = ("user.message", {"content": "a"})


def test_a_reply_of_copilot_ended_as_its_usage_says():
    events = [ASKED, *turn(1, "b", "length"), ASKED, *turn(2, "c")]
    assert records(copilot(*events)) == [("main", ["a", "b", "a", "c*"])]


def test_replies_of_copilot_that_saw_one_that_was_not_logged_are_not_trained_on_until_a_resume():
    events = [ASKED, *turn(1, ""), *turn(2, "b"), ASKED, *turn(3, "c"), ("session.resume", {}), ASKED, *turn(4, "d")]
    assert records(copilot(*events)) == [("main", ["a", "b", "a", "c", "a", "d*"])]


# OpenHands


def hands(state, *texts):
    """The events of a run, in turn of the user and the agent, and the state of the session."""
    events = []
    for number, said in enumerate(texts):
        source, role = (("user", "user"), ("agent", "assistant"))[number % 2]
        message = {"role": role, "content": [{"type": "text", "text": said}]}
        answer = {"llm_response_id": f"r{number}"} if number % 2 else {}
        events.append({"kind": "MessageEvent", "id": str(number), "source": source, "llm_message": message, **answer})
    return openhands.conversations([state], meta=events)


def test_a_reply_of_openhands_with_as_many_tokens_as_its_model_may_give_reached_the_limit():
    usages = [{"response_id": f"r{number}", "prompt_tokens": 9, "completion_tokens": number} for number in (1, 3)]
    state = {"id": "s", "agent": {"llm": {"model": "m", "usage_id": "agent", "max_output_tokens": 3}}}
    state |= {"execution_status": "finished", "stats": {"usage_to_metrics": {"agent": {"token_usages": usages}}}}
    (found,) = hands(state, "a", "b", "c", "d")
    assert [each.finish_reason for each in found.origin.replies] == [None, "length"]
    assert [each.completion_tokens for each in found.origin.replies] == [1, 3]


def test_results_of_openhands_have_what_its_terminal_adds_for_the_model():
    metadata = {"exit_code": 2, "prefix": "[Below is the rest.]", "suffix": "\n[Ended.]", "working_dir": "/w",
                "py_interpreter_path": "/bin/python"}  # fmt: skip
    observed = {"content": [{"type": "text", "text": "out"}], "is_error": True, "metadata": metadata}
    event = {"kind": "ObservationEvent", "id": "1", "source": "environment", "tool_call_id": "c", "tool_name": "t"}
    (found,) = openhands.conversations([{**event, "observation": observed}])
    parts = [each["text"] for each in found.messages[0]["content"]]
    added = "\n[Current working directory: /w]\n[Python interpreter: /bin/python]\n[Command finished with exit code 2]"
    assert parts == ["[An error occurred during execution.]\n", f"[Below is the rest.]out\n[Ended.]{added}"]
    observed |= {"is_error": False, "content": [{"type": "text", "text": "o" * 99_000}]}
    (found,) = openhands.conversations([{**event, "observation": observed}])
    shown = found.messages[0]["content"]
    assert len(shown) == 30_000
    assert shown.endswith(added)
