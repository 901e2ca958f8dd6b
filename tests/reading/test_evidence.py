"""Which format and envelope a log has: by its first line where that is plain chat, else by its first fifty lines."""

import io
import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.formats import formats
from chatsquash.reading import evidence
from chatsquash.reading.evidence import Shape
from tests.conftest import cases
from tests.reading.exchanges import CHAT, EXCHANGES, http, plain, sse

USER = {"role": "user", "content": "hi"}
ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}]}
CHAT_LINE = plain({"messages": [USER]}, ANSWER)
UNMARKED = plain({"messages": [USER]}, None)
MARKED = {name: plain(each.request, each.response) for name, each in EXCHANGES.items()}
CLASH = plain({"messages": [USER]}, {**ANSWER, "candidates": [{"finishReason": "STOP"}]})


def log(*lines) -> bytes:
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def looked(*lines, forced=None):
    return evidence.detect_shape(io.BytesIO(log(*lines)), forced)


def converted(*lines, **options):
    (outcome,) = convert_session(log(*lines).splitlines(), Options(anonymize=False, **options))
    return outcome


@cases(
    "line, expected",
    ("chat with an answer", CHAT_LINE, True),
    ("one that names itself", plain({"messages": [USER]}, {"object": "chat.completion", **ANSWER}), True),
    ("other members", CHAT_LINE | {"x": 1, "status": 200}, True),
    ("no messages yet", plain({"messages": []}, ANSWER), True),
    ("no answer", UNMARKED, False),
    ("an error", plain({"messages": [USER]}, {"error": "x"}), False),
    (
        "usage with a number beyond all",
        b'{"request": {"messages": []}, "response": {"usage": 1e400, "choices": [{"message": {"role": "assistant"}}]}}',
        True,
    ),
    ("no choices", plain({"messages": [USER]}, {"choices": []}), False),
    ("chunks", plain({"messages": [USER]}, {"object": "chat.completion.chunk", **ANSWER}), False),
    ("an answer of two formats", CLASH, False),
    ("an answer with done", plain({"messages": [USER]}, {"done": True, **ANSWER}), False),
    ("an answer with output", plain({"messages": [USER]}, {"output": [], **ANSWER}), False),
    ("a request with a body beside its messages", plain({"messages": [USER], "body": {}}, ANSWER), True),
    ("a request in a body", plain({"body": {"messages": [USER]}}, ANSWER), False),
    ("an answer with a member that no chat has", plain({"messages": [USER]}, {"x": 1, **ANSWER}), False),
    ("a LiteLLM line", CHAT_LINE | {"call_type": "x"}, False),
    ("an OpenHands line", CHAT_LINE | {"kwargs": {}}, False),
    ("messages that are no list", plain({"messages": {}}, ANSWER), False),
    ("no JSON", b"x", False),
    ("nothing", b"", False),
    *((name, line, name == "openai_chat") for name, line in MARKED.items()),
)
def test_a_line_decides_at_once_only_where_it_is_plain_chat(line, expected):
    assert (evidence.chat_exchange(log(line)) is not None) is expected


@pytest.mark.parametrize("name", formats())
@pytest.mark.parametrize("wrap", [plain, lambda request, response: http(request, {"body": response})])
def test_each_format_is_seen_in_its_first_line(name, wrap):
    line = wrap(EXCHANGES[name].request, EXCHANGES[name].response)
    shape, seen = looked(line)
    assert (shape.request, seen.format, shape.forced, seen.conflict) == (name, name, False, False)
    assert shape.envelope.NAME == seen.envelope
    assert seen.why.startswith(f"{name} (")


@pytest.mark.parametrize("name", formats())
def test_each_format_is_seen_in_what_was_streamed(name):
    shape, _ = looked(plain(EXCHANGES[name].request, sse(EXCHANGES[name].events)))
    assert shape.request == name


@pytest.mark.parametrize("name", [name for name in formats() if name != "openai_chat"])
def test_up_to_fifty_lines_are_looked_at(name):
    marked = MARKED[name]
    assert looked(*[UNMARKED] * 49, marked)[0].request == name
    assert looked(*[UNMARKED] * 50, marked)[0].request == "openai_chat"
    assert looked(*[b""] * 60, *[UNMARKED] * 3, marked)[0].request == name, "blank lines do not count"


def test_a_first_line_of_many_bytes_is_looked_at_whole():
    request = {"contents": [{"role": "user", "parts": [{"text": "x" * (5 << 20)}]}]}
    assert looked(plain(request, EXCHANGES["gemini"].response))[0].request == "gemini"


def test_the_file_stands_where_it_stood():
    file = io.BytesIO(log(*MARKED.values()))
    file.seek(7)
    evidence.detect_shape(file)
    assert file.tell() == 7


@pytest.mark.parametrize("name", formats())
def test_the_user_may_say_what_it_is(name):
    for lines in ([UNMARKED], [MARKED["gemini"], MARKED["anthropic"]], [CLASH], [{"x": 1}], []):
        shape, seen = looked(*lines, forced=name)
        assert (shape.request, shape.forced, seen.format, seen.conflict) == (name, True, name, False)
        assert "--from" in seen.why


def test_a_forced_format_keeps_the_envelope_that_is_seen():
    line = http(EXCHANGES["ollama"].request, {"body": EXCHANGES["ollama"].response})
    assert looked(line, forced="openai_chat")[0].envelope.NAME == "HTTP pairs"


def test_a_forced_format_is_that_of_every_line():
    """By its marks the line is Ollama's; by the user's word its object arguments are those of chat, and stay."""
    call = {"function": {"name": "grep", "arguments": {"n": 1}}}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    line = plain({"messages": [USER, said, {"role": "tool", "content": "x"}]}, None)
    assert json.loads(converted(line).record)["messages"][1]["tool_calls"][0]["id"] == "call_1"
    forced = converted(line, from_format="openai_chat")
    assert json.loads(forced.record)["messages"][1]["tool_calls"] == [call]


# Nothing known, and contradictions


@cases("lines, text",
    ("a dataset of messages", [{"messages": [USER], "tools": []}], "a dataset of messages"),
    ("a ShareGPT dataset", [{"conversations": [{"from": "human", "value": "x"}]}], "a ShareGPT dataset"),
    ("an instruction dataset", [{"instruction": "x", "input": "", "output": "y"}], "an instruction dataset"),
    ("a preference dataset", [{"chosen": [], "rejected": []}], "a preference dataset"),
    ("an OpenAPI file", [{"openapi": "3.1.0", "paths": {}}], "an OpenAPI file"),
    ("embeddings", [{"object": "list", "data": [{"embedding": [0.1]}]}], "a response with embeddings"),
    ("a moderation", [{"results": [{"flagged": False}]}], "a moderation response"),
    ("another object", [{"level": "info", "msg": "up"}], 'a JSON object with the keys "level", "msg"'),
    ("an exchange of embeddings", [plain({"model": "m", "input": "x"}, {"object": "list", "data": []})], "no known format"),
    ("turns of a role without parts", [plain({"messages": [USER, {"role": "model", "content": "x"}]}, None)], "no known format"),
    ("an empty exchange", [plain({}, {})], "no known format"),
)  # fmt: skip
def test_what_is_no_log_is_said_to_be_that_and_nothing_is_emitted(lines, text):
    outcome = converted(*lines, *lines)
    assert (outcome.record, outcome.left_out) == (None, "unknown-format")
    (found,) = [each for each in outcome.findings if each.code == "unknown-format"]
    assert text in found.text
    assert sum(outcome.account.counts) == 2
    if text == "no known format":
        assert all(name in found.text for name in formats()), "what is known"
        assert "the request is" in found.text


@cases("what, data",
    ("text that is not JSON", b"# Notes\n\ntext"),
    ("JSON lines, starting with a list", b"[1, 2]"),
    ("a CSV table", b"a,b\n1,2\n"),
    ("a CSV table", b'a;b;c\n1;"2;3";4\n'),
    ("a PDF", b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n{}\n"),
    ("a PNG image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    ("an HTML page", b"\n<!DOCTYPE html>\n<p>x"),
    ("binary data", b"\x01\x02\0\x03\nx"),
    ("UTF-16 text instead of UTF-8", "{\n".encode("utf-16")),
    ('a JSON object with the keys "event", "at"', b'{"event":"started","at":1}\n{"event":"ended"}\n' * 20),
)  # fmt: skip
def test_a_file_of_no_known_format_is_reported_once(what, data, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(data)
    (outcome,) = convert_session(tmp_path / "a.jsonl", Options(anonymize=False))
    assert (outcome.record, outcome.left_out) == (None, "unknown-format")
    (found,) = outcome.findings
    assert found.text.startswith(f"unknown format: {what}")
    assert outcome.account.size == len(data)
    assert outcome.report.rejected == []


def test_lines_that_were_to_be_json_are_reported_one_by_one():
    outcome = converted(b"{", b"}")
    assert (outcome.record, outcome.left_out) == (None, "empty-session")
    assert {each.code for each in outcome.findings} == {"bad-line", "empty-session"}


def test_so_are_lines_of_which_one_is_an_exchange_after_all():
    outcome = converted(*[b"# Notes"] * 60, json.dumps(plain({"messages": [USER]}, None)).encode())
    assert outcome.record is not None
    assert [each.code for each in outcome.findings].count("bad-line") == 60


def test_rows_of_nuls_are_blank_and_those_before_a_line_are_no_part_of_it():
    line = json.dumps(
        plain({"messages": [USER]}, {"choices": [{"message": {"role": "assistant", "content": "x"}}]})
    ).encode()
    outcome = converted(b"\0" * 99, b"\0" * 99 + line)
    assert outcome.record is not None
    assert outcome.account.counts.blank == 1
    assert not [each for each in outcome.findings if each.severity == "error"]


def test_a_body_that_is_pretty_printed_is_read_and_anything_else_gives_nothing():
    for value, expected in (({"messages": [USER]}, None), ({"level": USER}, "empty-session")):
        (outcome,) = convert_session(json.dumps(value, indent=2).splitlines(), Options(anonymize=False))
        assert outcome.left_out == expected


def test_two_formats_on_one_object_are_an_error_that_names_both():
    outcome = converted(CLASH)
    assert (outcome.record, outcome.left_out) == (None, "unknown-format")
    (found,) = [each for each in outcome.findings if each.code == "unknown-format"]
    assert "more than one format matches: " in found.text
    assert "gemini (candidates" in found.text
    assert "openai_chat (choices" in found.text
    assert "--from" in found.text


def test_the_user_may_choose_between_the_two():
    outcome = converted(CLASH, from_format="openai_chat")
    assert json.loads(outcome.record)["messages"][-1]["content"] == "x"


def test_plain_chat_without_marks_is_openai_chat():
    shape, seen = looked(UNMARKED)
    assert (shape, seen.format) == (Shape(), "openai_chat")
    assert "without provider-specific members" in seen.why


# Mixed files


def of_line(line, second: int):
    return {**line, "timestamp": f"2026-01-13T10:00:{second:02}Z"}


@pytest.mark.parametrize("most", formats())
@pytest.mark.parametrize("other", formats())
def test_a_line_of_another_format_is_read_as_that(most, other):
    """The odd line is the last one, so that it makes the record."""
    if most == other:
        return
    lines = [of_line(MARKED[most], 0), of_line(MARKED[most], 1), of_line(MARKED[other], 2)]
    outcome, expected = converted(*lines), converted(MARKED[other])
    assert outcome.record == expected.record
    (found,) = [each for each in outcome.findings if each.code == "mixed-formats"]
    assert found.line == 3
    assert f"1 entry with the format {other} in a log of {most}" in found.text
    assert not outcome.report.rejected


def test_lines_of_another_envelope_are_read_as_that():
    pair = http(CHAT.request, {"body": CHAT.response})
    pair["request"]["timestamp"] = "2026-01-13T10:00:05Z"
    outcome = converted(plain(CHAT.request, CHAT.response), pair)
    assert outcome.account.counts.selected + outcome.account.counts.superseded == 2
    (found,) = [each for each in outcome.findings if each.code == "mixed-formats"]
    assert "1 entry with another envelope in a log of openai_chat" in found.text


def test_a_log_goes_on_in_its_own_format_behind_a_line_of_another():
    lines = [MARKED["gemini"], MARKED["anthropic"], MARKED["gemini"], MARKED["ollama"], MARKED["gemini"]]
    outcome = converted(*[of_line(line, second) for second, line in enumerate(lines)])
    assert outcome.record == converted(MARKED["gemini"]).record
    found = sorted(each.text for each in outcome.findings if each.code == "mixed-formats")
    assert [text.split(" in a log")[0] for text in found] == [
        "1 entry with the format anthropic",
        "1 entry with the format ollama",
    ]


def test_what_a_line_of_another_format_lacks_is_counted_once():
    lines = [
        {key: value for key, value in MARKED[name].items() if key != "timestamp"} for name in ("gemini", "anthropic")
    ]
    outcome = converted(lines[0], lines[0], lines[1])
    (found,) = [each for each in outcome.findings if each.code == "missing-timestamp"]
    assert "in 3 entries" in found.text


def test_a_line_of_another_format_that_cannot_be_read_is_no_mixture():
    broken = plain({"messages": [{"role": "nobody", "content": 5}], "max_tokens": 1}, EXCHANGES["anthropic"].response)
    outcome = converted(MARKED["gemini"], broken)
    codes = {each.code for each in outcome.findings}
    assert "bad-entry" in codes
    assert "mixed-formats" not in codes
