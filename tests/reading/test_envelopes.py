"""However an exchange is wrapped, its record is that of the same exchange in the envelope that is read."""

import base64
import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.formats import formats
from chatsquash.reading import envelopes
from chatsquash.reading.envelopes import http_pairs, litellm
from tests.conftest import cases
from tests.reading.exchanges import CHAT, EXCHANGES, MESSAGES, SECRETS, http, ndjson, plain, sse

OPTIONS = Options(anonymize=False)


def converted(*lines, options=OPTIONS):
    (outcome,) = convert_session([line if isinstance(line, str) else json.dumps(line) for line in lines], options)
    return outcome


def codes(outcome) -> list[str]:
    return sorted(each.code for each in outcome.findings)


def messages(outcome):
    return json.loads(outcome.record)["messages"]


@pytest.mark.parametrize("name", formats())
def test_each_exchange_is_the_same_record_to_begin_with(name):
    outcome = converted(plain(EXCHANGES[name].request, EXCHANGES[name].response))
    assert messages(outcome) == MESSAGES
    assert [each["name"] for each in json.loads(outcome.record)["tools"]] == ["grep"]
    assert not {"missing-reply", "unknown-format", "stream-interrupted", "wrong-type"} & set(codes(outcome))


WRAPS = {
    "HTTP, objects": lambda e: http(e.request, {"status": 200, "body": e.response}),
    "HTTP, status_code": lambda e: http(e.request, {"status_code": 201, "body": e.response}),
    "HTTP, the status beside them": lambda e: http(e.request, {"body": e.response}, status=200),
    "HTTP, a status as text": lambda e: http(e.request, {"status": "200", "body": e.response}),
    "HTTP, bodies as text": lambda e: http(json.dumps(e.request), {"body": json.dumps(e.response)}),
    "HTTP, body_raw is the body": lambda e: http(e.request, {"body_raw": json.dumps(e.response)}),
    "HTTP, null beside body_raw": lambda e: http(e.request, {"body": None, "body_raw": json.dumps(e.response)}),
    "HTTP, server-sent events": lambda e: http(e.request, {"status": 200, "body_raw": sse(e.events)}),
    "HTTP, server-sent events under body": lambda e: http(e.request, {"body": sse(e.events, end="")}),
    "HTTP, carriage returns": lambda e: http(e.request, {"body_raw": sse(e.events).replace("\n", "\r\n")}),
    "HTTP, JSON lines": lambda e: http(e.request, {"body_raw": ndjson(e.events)}),
    "HTTP, a list of events": lambda e: http(e.request, {"body": e.events}),
    "HTTP, a bare response": lambda e: http(e.request, {}) | {"response": e.response},
    "a body as text": lambda e: plain(e.request, json.dumps(e.response)),
    "a wrapped body": lambda e: plain(e.request, {"status": 200, "headers": {}, "body": e.response}),
    "a wrapped stream": lambda e: plain(e.request, {"body_raw": sse(e.events)}),
    "a list of events": lambda e: plain(e.request, e.events),
    "a list of events as text": lambda e: plain(e.request, [json.dumps(each) for each in e.events]),
    "a list of server-sent events": lambda e: plain(e.request, [sse([each], end="") for each in e.events]),
    "server-sent events": lambda e: plain(e.request, sse(e.events)),
    "server-sent events without the last blank line": lambda e: plain(e.request, sse(e.events, end="").rstrip()),
    "comments among the events": lambda e: plain(e.request, ": ping\n\n" + sse(e.events).replace("\n\n", "\n\n: x\n\n")),
    "JSON lines": lambda e: plain(e.request, ndjson(e.events)),
}  # fmt: skip


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", formats())
def test_the_record_is_that_of_the_plain_envelope(name, wrap):
    exchange = EXCHANGES[name]
    expected = converted(plain(exchange.request, exchange.response))
    outcome = converted(WRAPS[wrap](exchange))
    assert outcome.record == expected.record
    assert codes(outcome) == codes(expected)
    assert (outcome.session, outcome.output.day) == ("s1", "2026-01-13")


@pytest.mark.parametrize("name", formats())
def test_a_log_of_http_pairs_grows_as_any(name):
    exchange = EXCHANGES[name]
    lines = [http(exchange.request, {"body": exchange.response}) for _ in range(2)]
    lines[1]["request"]["timestamp"] = "2026-01-13T10:00:05Z"
    outcome = converted(*lines)
    assert messages(outcome) == MESSAGES
    assert outcome.account.counts.superseded == 1


# What never becomes a reply

FAILURES = [
    ("HTTP, an error", lambda e: http(e.request, {"status": 429, "body": {"error": {"message": "late"}}}), "status 429"),
    ("HTTP, an error as text", lambda e: http(e.request, {"status": 503, "body": "<html>busy</html>"}), "status 503"),
    ("HTTP, an answer all the same", lambda e: http(e.request, {"status": 500, "body": e.response}), "status 500"),
    ("HTTP, a status as text", lambda e: http(e.request, {"status": "429", "body": e.response}), "status 429"),
    ("HTTP, status_code", lambda e: http(e.request, {"status_code": 400, "body": e.response}), "status 400"),
    ("HTTP, the status beside them", lambda e: http(e.request, {"body": e.response}, status=502), "status 502"),
    ("HTTP, a redirection", lambda e: http(e.request, {"status": 302, "body": e.response}), "status 302"),
    ("HTTP, an error and no body", lambda e: http(e.request, {"status": 504, "body": None}), "status 504"),
    ("HTTP, a stream", lambda e: http(e.request, {"status": 500, "body_raw": sse(e.events)}), "status 500"),
    ("a wrapped body", lambda e: plain(e.request, {"status": 500, "body": e.response}), "status 500"),
    ("a status beside it", lambda e: plain(e.request, e.response, status=500), "status 500"),
    ("a status and no response", lambda e: plain(e.request, None, status=504), "there is no response, with status 504"),
    ("an error body", lambda e: plain(e.request, {"error": {"message": "late"}}), "the response is an error body"),
    ("an error event", lambda e: plain(e.request, [{"error": {"message": "late"}}]), "the response is an error body"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "wrap", "text"), FAILURES, ids=[row[0] for row in FAILURES])
@pytest.mark.parametrize("name", formats())
def test_an_error_never_becomes_a_reply_and_the_entry_stays(name, sentence, wrap, text):
    exchange = EXCHANGES[name]
    good = http if "HTTP" in sentence else plain
    first = good(exchange.request, {"body": exchange.response} if good is http else exchange.response)
    second = wrap(exchange)
    (second["request"] if good is http else second)["timestamp"] = "2026-01-13T10:00:05Z"
    outcome = converted(first, second)
    assert messages(outcome) == MESSAGES[:-1]
    assert [each.line for each in outcome.findings if each.code == "missing-reply"] == [2]
    assert any(text in each.text for each in outcome.findings if each.code == "missing-reply")


# Streams that were cut


CUTS = {
    "a list of events": lambda events, rest: events,
    "JSON lines": lambda events, rest: ndjson(events),
    "a JSON line in its middle": lambda events, rest: ndjson(events) + json.dumps(rest[0])[:-5],
    "server-sent events": lambda events, rest: sse(events, end=""),
    "an event in its middle": lambda events, rest: sse(events, end="") + sse(rest, end="")[:-9],
    "an event before its data": lambda events, rest: sse(events, end="") + "event: x\nda",
}
ARRIVED = {
    "openai_chat": 2,
    "gemini": 2,
    "ollama": 2,
    "openai_responses": 3,
    "anthropic": 4,
    "bedrock": 3,
    "gemini_interactions": 4,
}
"""How many events bring the text, and no end."""


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", formats())
def test_a_cut_stream_gives_what_arrived_and_says_so(name, cut):
    exchange, arrived = EXCHANGES[name], ARRIVED[name]
    response = CUTS[cut](exchange.events[:arrived], exchange.events[arrived : arrived + 1])
    outcome = converted(plain(exchange.request, response))
    said = messages(outcome)[-1]
    assert (said["role"], said["content"]) == ("assistant", "looking")
    assert "stream-interrupted" in codes(outcome)
    assert {"missing-reply", "wrong-type"}.isdisjoint(codes(outcome))


@pytest.mark.parametrize("name", formats())
def test_a_stream_cut_before_anything_was_said_is_no_reply(name):
    outcome = converted(plain(EXCHANGES[name].request, "data: "))
    assert messages(outcome) == MESSAGES[:-1]
    assert "missing-reply" in codes(outcome)


# Streams that a service ended with an error


ERRORS = {
    "openai_chat": {"error": {"message": "The server had an error", "type": "server_error", "code": 500}},
    "openai_responses": {
        "type": "error",
        "sequence_number": 9,
        "code": "server_error",
        "message": "An error",
        "param": None,
    },
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "gemini": {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
    "ollama": {"error": "an error was encountered while running the model"},
    "bedrock": {"modelStreamErrorException": {"message": "an error"}},
    "gemini_interactions": {"event_type": "error", "error": {"code": "unavailable", "message": "Overloaded"}},
}
"""What each service sends in mid-stream: the types of the SDKs, and for Ollama its server's code."""
STORED = {"a list of events": list, "server-sent events": sse, "JSON lines": ndjson}
FAILED = {
    "type": "response.failed",
    "response": {"status": "failed", "error": {"code": "x", "message": "y"}, "output": []},
}
"""The other end of a Responses stream that failed, from the SDK's ``ResponseFailedEvent``."""


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize(("name", "error"), [*ERRORS.items(), ("openai_responses", FAILED)])
def test_a_stream_that_an_error_ended_gives_what_came_before_with_weight_0(name, error, stored):
    exchange = EXCHANGES[name]
    response = STORED[stored]([*exchange.events[: ARRIVED[name]], error])
    outcome = converted(plain(exchange.request, response), options=Options(anonymize=False, loss="weight"))
    said = messages(outcome)[-1]
    assert (said["role"], said["content"], said["weight"]) == ("assistant", "looking", 0)
    assert {"stream-interrupted", "reply-truncated"} & set(codes(outcome))
    assert "missing-reply" not in codes(outcome)


@pytest.mark.parametrize("name", formats())
def test_a_stream_of_an_error_is_no_reply(name):
    outcome = converted(plain(EXCHANGES[name].request, sse([ERRORS[name]])))
    assert messages(outcome) == MESSAGES[:-1]
    assert "the response is an error body" in outcome.findings[0].text


def test_required_members_are_read_from_the_source_text():
    needed = {name for each in envelopes.envelopes() for names in each.NEEDS for name in names}
    assert envelopes.required_members(tuple(envelopes.__path__)) == needed


def test_an_error_after_a_first_chunk_without_text_is_no_reply():
    chunk = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
    outcome = converted(plain(EXCHANGES["openai_chat"].request, sse([chunk, ERRORS["openai_chat"]])))
    assert messages(outcome) == MESSAGES[:-1]
    assert "missing-reply" in codes(outcome)


# Secrets


@pytest.mark.parametrize("broken", [False, True])
def test_headers_reach_no_record_and_no_finding(broken):
    for exchange in EXCHANGES.values():
        line = http(
            exchange.request, {"status": 500, "body": {"error": "x"}} if broken else {"body": exchange.response}
        )
        odd = http(5, {"body": 5})
        outcome = converted(line, odd, {"headers": line["request"]["headers"]})
        shown = repr(outcome)
        assert not [secret for secret in SECRETS if secret in shown]
        assert outcome.record is not None


# LiteLLM

BESIDE = {
    "model_parameters": {"tools": CHAT.request["tools"], "temperature": 1},
    "response_cost": 0.1,
    "status": "success",
}
PAYLOAD = {
    "id": "x",
    "call_type": "acompletion",
    "custom_llm_provider": "anthropic",
    "trace_id": "s1",
    "startTime": 1768298400.5,
    "messages": CHAT.request["messages"],
    "response": CHAT.response,
    **BESIDE,
}
ROW = {
    "request_id": "x",
    "call_type": "acompletion",
    "session_id": "s1",
    "spend": 0.1,
    "startTime": "2026-01-13T10:00:00Z",
    "messages": json.dumps(CHAT.request["messages"]),
    "response": json.dumps(CHAT.response),
    "proxy_server_request": json.dumps(CHAT.request),
}


@cases("line",
    ("a logging payload", PAYLOAD),
    ("the proxy's session id", {**PAYLOAD, "trace_id": None, "litellm_session_id": "s1"}),
    ("a row of the spend logs", ROW),
    ("messages only in the proxied request", {**ROW, "messages": "{}"}),
    ("messages that are null", {**ROW, "messages": None}),
    ("a row whose columns were parsed", {**ROW, "messages": {}, "response": CHAT.response, "proxy_server_request": CHAT.request}),
    ("the proxied request with its body", {**ROW, "messages": "", "proxy_server_request": {"headers": {"a": "b"}, "body": CHAT.request}}),
    ("a payload with both", {**PAYLOAD, "proxy_server_request": json.dumps(CHAT.request)}),
    ("messages that are not those of the proxied request", {**ROW, "proxy_server_request": json.dumps({**CHAT.request, "messages": [{"role": "user", "content": "no"}]})}),
)  # fmt: skip
def test_litellm(line):
    outcome = converted(line)
    assert outcome.record == converted(plain(CHAT.request, CHAT.response)).record
    assert (outcome.session, outcome.output.day) == ("s1", "2026-01-13")
    assert not {"missing-session-id", "missing-timestamp", "naive-timestamp"} & set(codes(outcome))


@pytest.mark.parametrize("response", [CHAT.response, "litellm.RateLimitError: late", {}, None])
def test_a_call_that_litellm_marks_as_failed_has_no_reply(response):
    outcome = converted({**PAYLOAD, "response": response, "status": "failure"})
    assert messages(outcome) == MESSAGES[:-1]
    (found,) = [each for each in outcome.findings if each.code == "missing-reply"]
    assert "with status failure" in found.text
    assert "500" not in found.text, "a status is none that nobody logged"


ITEMS = [
    {"role": "user", "content": "Tide?"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "nine"},
]
DEFINED = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
ENCODED = "resp_" + base64.b64encode(b"litellm:custom_llm_provider:openai;model_id:None;response_id:resp_1").decode()


def answered(text, id="resp_2"):
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {"id": id, "object": "response", "status": "completed", "output": [message]}


def proxied(body, response, *, nested=False, number=0, **row):
    """A row of ``LiteLLM_SpendLogs``, as ``get_logging_payload`` of litellm 1.110.2 made it for ``aresponses``."""
    asked = {"url": "http://x/v1/responses", "method": "POST", "headers": {}, "body": body} if nested else body
    return {
        "request_id": response["id"],
        "call_type": "aresponses",
        "session_id": f"trace-{number}",
        "startTime": f"2026-01-13 10:00:0{number}+00:00",
        "messages": "{}",
        "response": json.dumps(response),
        "proxy_server_request": json.dumps(asked),
        **row,
    }


BODY = {"model": "m-1", "input": ITEMS, "instructions": "Be brief.", "tools": [DEFINED], "max_output_tokens": 9}
MADE = {"messages": ITEMS, "model_parameters": {name: BODY[name] for name in ("instructions", "tools")}}


@cases("line",
    ("a row of the spend logs", proxied(BODY, answered("At nine."))),
    ("with address and headers", proxied(BODY, answered("At nine."), nested=True)),
    ("whose columns were parsed", {**proxied(BODY, answered("At nine.")), "messages": {}, "proxy_server_request": BODY}),
    ("empty messages", proxied(BODY, answered("At nine."), messages="[]")),
    ("no messages", {**proxied(BODY, answered("At nine.")), "messages": None}),
    ("a logging payload", {**proxied({}, answered("At nine.")), **MADE}),
    ("the synchronous call", proxied(BODY, answered("At nine."), call_type="responses")),
)  # fmt: skip
def test_litellm_responses(line):
    assert converted(line).record == converted(plain(BODY, answered("At nine."))).record


def test_litellm_responses_with_one_text_as_input():
    outcome = converted(proxied({**BODY, "input": "Tide?"}, answered("At nine.")))
    assert [each["content"] for each in messages(outcome)] == ["Be brief.", "Tide?", "At nine."]


def test_a_body_of_gemini_that_litellm_proxied():
    body = {"contents": [{"role": "user", "parts": [{"text": "Tide?"}]}]}
    response = {"id": "g1", "candidates": [{"content": {"role": "model", "parts": [{"text": "At nine."}]}}]}
    outcome = converted(proxied(body, response, call_type="agenerate_content"))
    assert [each["content"] for each in messages(outcome)] == ["Tide?", "At nine."]


@cases("reference",
    ("the id that clients have, in the body", lambda body: proxied({**body, "previous_response_id": ENCODED}, answered("At three."), number=1)),
    ("the provider's id, in the parameters", lambda body: {
        **proxied({}, answered("At three."), number=1),
        "messages": [{"role": "user", "content": body["input"]}],
        "model_parameters": {"previous_response_id": "resp_1", "instructions": "Be brief."},
    }),
)  # fmt: skip
def test_litellm_encodes_the_ids_of_responses(reference):
    """LiteLLM's ids of responses contain the provider's in base64 (``_build_responses_api_response_id``)."""
    first = proxied({**BODY, "input": "Tide?"}, answered("At nine.", ENCODED))
    outcome = converted(*({**row, "session_id": "s1"} for row in (first, reference({**BODY, "input": "And low?"}))))
    assert [each["content"] for each in messages(outcome)][1:] == ["Tide?", "At nine.", "And low?", "At three."]
    assert "missing-history" not in codes(outcome)


# OpenHands

MOCKED = [*CHAT.request["messages"], {"role": "assistant", "content": "<function=grep></function>"}]
COMPLETION = {
    "messages": CHAT.request["messages"],
    "response": CHAT.response,
    "args": [],
    "kwargs": {"tools": CHAT.request["tools"], "extra_body": {"metadata": {"session_id": "s2"}}},
    "timestamp": 1768298400.5,
    "cost": 0.1,
    "session_id": "s1",
}


@cases("line",
    ("a completion", COMPLETION),
    ("calls that were mocked as text", {**COMPLETION, "messages": MOCKED, "response": {"choices": [{"message": {"content": "<function"}}]}, "fncall_messages": CHAT.request["messages"], "fncall_response": CHAT.response}),
)  # fmt: skip
def test_openhands(line):
    outcome = converted(line)
    assert outcome.record == converted(plain(CHAT.request, CHAT.response)).record
    assert outcome.output.day == "2026-01-13"


# Telling them apart


@cases(
    "line, name",
    ("the plain one", plain(CHAT.request, CHAT.response), "request and response"),
    ("a request alone", {"request": CHAT.request}, "request and response"),
    ("a request with a body beside its messages", {"request": {**CHAT.request, "body": {}}}, "request and response"),
    ("an HTTP pair", http(CHAT.request, {}), "HTTP pairs"),
    ("an HTTP pair without an answer", {"request": {"body": "{}"}}, "HTTP pairs"),
    ("a logging payload", PAYLOAD, "LiteLLM"),
    ("a row of the spend logs", ROW, "LiteLLM"),
    ("a completion", COMPLETION, "OpenHands completions"),
    ("a list", [], None),
    ("a dataset", {"messages": CHAT.request["messages"]}, None),
    ("a request that is not wrapped", CHAT.request, None),
    ("a call type alone", {"call_type": "acompletion"}, None),
    ("an empty object", {}, None),
)
def test_envelopes_are_told_apart(line, name):
    found = envelopes.recognise(json.dumps(line).encode())
    assert (found and found.NAME) == name


def test_a_long_line_has_the_envelope_of_a_short_one():
    """Also when another long line was examined before it."""
    pad = "x" * envelopes._LONG
    for _ in range(2):
        assert envelopes.recognise(json.dumps({"request": {}, "response": {}, "pad": pad}).encode()) is envelopes.PLAIN
        assert envelopes.recognise(json.dumps({"info": {}, "messages": [], "pad": pad}).encode()) is None


@pytest.mark.parametrize("line", [b"", b"x", b'{"request":', b"\xff", b'{"request":{},"a":1}}'])
def test_what_is_no_object_is_no_envelope(line):
    assert envelopes.recognise(line) is None


def test_what_an_envelope_does_not_fit_stays_as_it_is():
    line = json.dumps(plain(CHAT.request, CHAT.response)).encode()
    assert all(envelopes.unwrap(line, each) == line for each in envelopes.envelopes())
    assert envelopes.unwrap(b"nonsense", http_pairs) == b"nonsense"


def test_values_go_through_an_envelope_byte_by_byte():
    line = (
        b'{"call_type":"x","messages":[{"role":"user","content":"\\ud800","n":1.50,"m":1E5}],"startTime":0.10,"z":NaN}'
    )
    unwrapped = envelopes.unwrap(line, litellm)
    assert (
        unwrapped == b'{"request":{"messages":[{"role":"user","content":"\\ud800","n":1.50,"m":1E5}]},"timestamp":0.10}'
    )


# An envelope of one's own

WRAPPER = """
from chatsquash.reading.members import Members, object_members

NAME = "a gateway"
WHAT = "`{call, at}`"
NEEDS = (frozenset(("call", "at")),)
SESSION = ("conversation",)
MIXES = False


def fits(line: Members) -> bool:
    return "asked" in object_members(line["call"])


def unwrap(line: Members) -> Members:
    call = object_members(line["call"])
    beside = {"timestamp": line["at"], "session_id": line.get("conversation", b"null")}
    return {"request": call["asked"], "response": call.get("said", b"null"), **beside}
"""
CLAIMING = """
from chatsquash.reading.envelopes.plain import SESSION
from chatsquash.reading.members import Members

NAME = "a recorder"
WHAT = "`{request, response, recorded}`"
NEEDS = (frozenset(("request", "response", "recorded")),)
MIXES = False


def fits(line: Members) -> bool:
    return True


def unwrap(line: Members) -> Members:
    recorded = {"timestamp": line["recorded"], "session_id": b'"s1"'}
    return {"request": line["request"], "response": line["response"], **recorded}
"""
DOTTED = CLAIMING.replace('"recorded"', '"@recorded.at"')
"""Loggers write members that are no names in Python."""
TIME = "2026-01-13T10:00:00Z"


@pytest.fixture
def new_envelope(tmp_path, monkeypatch):
    """Puts a module into a folder of its own, which is one more of those in which envelopes are found."""
    name = f"added_{tmp_path.name}"  # one name stands for one module as long as the process lives

    def put(source):
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.setattr(envelopes, "__path__", [*envelopes.__path__, str(tmp_path)])

    return put


@cases("source, wrap",
    ("other members", WRAPPER, lambda e: {"call": {"asked": e.request, "said": e.response}, "at": TIME, "conversation": "s1"}),
    ("one member besides those of the plain one", CLAIMING, lambda e: {"request": e.request, "response": e.response, "recorded": TIME}),
    ("a member that is no name in Python", DOTTED, lambda e: {"request": e.request, "response": e.response, "@recorded.at": TIME}),
)  # fmt: skip
@pytest.mark.parametrize("name", formats())
def test_an_envelope_that_is_put_into_a_folder_is_read(new_envelope, name, source, wrap):
    exchange = EXCHANGES[name]
    expected = converted(plain(exchange.request, exchange.response))
    assert converted(wrap(exchange)).record != expected.record or converted(wrap(exchange)).output.day is None
    new_envelope(source)
    outcome = converted(*[wrap(exchange)] * 3)
    assert outcome.record == expected.record
    assert (outcome.session, outcome.output.day, outcome.account.counts.superseded) == ("s1", "2026-01-13", 2)
    assert not {"missing-session-id", "missing-timestamp", "mixed-formats"} & set(codes(outcome))


# Rows of gateways and of tracing products


@pytest.mark.parametrize("said", ['the "model"', "x"])
def test_a_body_of_bedrock_has_the_model_whatever_is_said_in_it(said):
    body = {"messages": [{"role": "user", "content": said}], "tools": [{"input_schema": {"properties": {"model": {}}}}]}
    line = {
        "schemaType": "ModelInvocationLog",
        "modelId": "m",
        "operation": "InvokeModel",
        "input": {"inputBodyJson": body},
    }
    assert unwrapped(line)["request"] == {"model": "m", **body}
    line["input"]["inputBodyJson"] = {"model": "own", **body}
    assert unwrapped(line)["request"]["model"] == "own"


def unwrapped(line):
    raw = json.dumps(line).encode()
    return json.loads(envelopes.unwrap(raw, envelopes.recognise(raw)))


def span(**attributes):
    return {"attributes": {"openinference.span.kind": "LLM", **attributes}, "start_time": "2026-01-01T00:00:00Z"}


def test_pictures_and_all_choices_of_a_span_are_read():
    asked, given = "llm.input_messages.0.message", "llm.output_messages"
    parts = {
        f"{asked}.contents.0.message_content.text": "What is it?",
        f"{asked}.contents.1.message_content.image.image.url": "https://example.com/a.png",
    }
    answers = {
        f"{given}.{at}.message.{name}": value
        for at, said in enumerate("ab")
        for name, value in (("role", "assistant"), ("content", said))
    }
    line = unwrapped(span(**{f"{asked}.role": "user"}, **parts, **answers))
    content = line["request"]["messages"][0]["content"]
    assert content[1] == {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    assert [each["message"]["content"] for each in line["response"]["choices"]] == ["a", "b"]


def test_very_many_messages_of_a_span_are_all_read():
    names = {f"llm.input_messages.{at}.message.role": "user" for at in range(12_000)}
    assert len(unwrapped(span(**names))["request"]["messages"]) == 12_000
