"""Preference pairs: two replies to one request, of which the log tells which was preferred."""

import json
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.results.verify import verify
from chatsquash.templates.source import pack
from tests.conftest import assistant, cases, user, write_log
from tests.outputs import manifest
from tests.simulator.play import play
from tests.trees import logs
from tests.trees.logs import AGENT, READ, Log, calling, result

WHY = user("Why?")


def pairs(out="out", split="train"):
    files = sorted(Path(out).glob(f"pairs/{split}-*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def told(lines, here, **options):
    """What each pair of a log says: its evidence, and both replies."""
    write_log(here / "logs/a.jsonl", *lines)
    convert("logs", "out", Options(**{"preset": "hf", "pairs": "logged", "anonymize": False, **options}))
    return [(each["evidence"], said(each["chosen"]), said(each["rejected"])) for each in pairs()]


def said(messages):
    (message,) = messages
    calls = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return message.get("content") or calls


def rewound():
    """The user went on from a reply, came back, and went on from another one."""
    log = Log()
    one = log.add(AGENT, WHY, says="It adds strings.")
    log.add(AGENT, WHY, one, user("No."), says="Then I do not know.")
    two = log.add(AGENT, WHY, says="It starts from one.")
    log.add(AGENT, WHY, two, user("Mend it."), says="Done.")
    return log.lines


def at_once():
    """Both replies were gone on from, in turns."""
    log = Log()
    one = log.add(AGENT, WHY, says="It adds strings.")
    two = log.add(AGENT, WHY, says="It starts from one.")
    log.add(AGENT, WHY, one, user("No."), says="Then I do not know.")
    log.add(AGENT, WHY, two, user("Mend it."), says="Done.")
    return log.lines


def with_choices(held, *more):
    log = Log()
    log.add(AGENT, WHY, says="It adds strings.")
    choices = log.lines[-1]["response"]["choices"]
    choices += [{"index": at, "message": each, "finish_reason": "stop"} for at, each in enumerate(more, 1)]
    if held is not None:
        log.add(AGENT, WHY, choices[held]["message"], user("Mend it."), says="Done.")
    return log.lines


def broke_off():
    log = Log()
    log.add(AGENT, WHY, says="It adds", finish="length")
    two = log.add(AGENT, WHY, says="It starts from one.")
    log.add(AGENT, WHY, two, user("Mend it."), says="Done.")
    return log.lines


def other_tools():
    log = Log()
    log.add(AGENT, WHY, says="It adds strings.", tools=[READ])
    two = log.add(AGENT, WHY, says="It starts from one.")
    log.add(AGENT, WHY, two, user("Mend it."), says="Done.")
    return log.lines


def never_gone_on():
    log = Log()
    log.add(AGENT, WHY, says="It adds strings.")
    log.add(AGENT, WHY, says="It starts from one.")
    return log.lines


ONE, OTHER = "It starts from one.", "It adds strings."


@cases("lines, expected",
    ("was gone on from", logs.regenerated(), [("regenerated; chosen a.jsonl:3; rejected a.jsonl:2", "It starts from one instead of zero.", OTHER)]),
    ("the path that was kept", rewound(), [("rewound; chosen a.jsonl:3; rejected a.jsonl:1", ONE, OTHER)]),
    ("both paths went on", at_once(), []),
    ("the choice that was kept", with_choices(1, assistant(ONE)), [("choice; chosen a.jsonl:1 choice 2; rejected a.jsonl:1 choice 1", ONE, OTHER)]),
    ("the first choice", with_choices(0, assistant(ONE), assistant("Who knows.")), [
        ("choice; chosen a.jsonl:1 choice 1; rejected a.jsonl:1 choice 2", OTHER, ONE),
        ("choice; chosen a.jsonl:1 choice 1; rejected a.jsonl:1 choice 3", OTHER, "Who knows."),
    ]),
    ("nobody tells which choice", with_choices(None, assistant(ONE)), []),
    ("the same words twice", with_choices(0, assistant(OTHER)), []),
    ("one that broke off", broke_off(), []),
    ("with other tools", other_tools(), []),
    ("nobody tells which reply", never_gone_on(), []),
    ("another prompt", logs.edited(), []),
    ("a session that only grows", logs.grows(), []),
)  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"conversations": "all"}, {"samples": "reply"}, {"loss": "weight"}], ids=str)
def test_pairs_that_were_logged(here, lines, expected, options):
    assert told(lines, here, **options) == expected
    counts = manifest()["counts"]["pairs"]
    assert sum(counts.values()) == len(expected)
    assert verify(Path("out")).problems == []


def retried(second='{"path": "b"}', answer="text", first="Error: no such file"):
    log = Log(tools=[READ])
    one = log.add(AGENT, WHY, says=calling("read_file", '{"path": "a"}'))
    two = log.add(AGENT, WHY, one, result(first), says=calling("read_file", second, "call_2"))
    log.add(AGENT, WHY, one, result(first), two, result(answer, "call_2"), says="Done.")
    return log.lines


def denied(text="The user doesn't want to proceed with this tool use. The tool use was rejected."):
    log = Log(tools=[READ])
    one = log.add(AGENT, WHY, says=calling("read_file", '{"path": "a"}'))
    log.add(AGENT, WHY, one, result(text), user("Ask me first."), says="May I read a?")
    return log.lines


@cases("lines, expected",
    ("a call that was corrected", retried(), [("retry; chosen a.jsonl:2; rejected a.jsonl:1", [{"path": "b"}], [{"path": "a"}])]),
    ("the same call again", retried('{"path": "a"}'), []),
    ("which failed, too", retried(answer="Error: no such file"), []),
    ("a call that went well", retried(first="text"), []),
    ("a call that was denied", denied(), [("denied; chosen a.jsonl:2; rejected a.jsonl:1", "May I read a?", [{"path": "a"}])]),
    ("a call that was not", denied("text"), []),
)  # fmt: skip
def test_counterfactual_pairs(here, lines, expected):
    assert told(lines, here, pairs="counterfactual") == expected
    assert told(lines, here, pairs="logged", replace=True) == []


def test_a_pair_has_the_request_of_both_and_its_tools(here):
    told(retried(), here, pairs="counterfactual", preset="chat", format="jsonl")
    (pair,) = pairs()
    assert list(pair) == ["prompt", "chosen", "rejected", "tools", "evidence"]
    assert pair["prompt"] == [AGENT, WHY]
    assert pair["rejected"][0]["tool_calls"] == calling("read_file", '{"path": "a"}')["tool_calls"]
    assert [each["name"] for each in pair["tools"]] == ["read_file"]


def test_addresses_are_replaced_in_pairs_too(here):
    lines = json.loads(json.dumps(rewound()).replace("strings", "jane@corp.com"))
    write_log(here / "logs/jane@corp.com/x.jsonl", *lines)
    convert("logs", "out", Options(preset="hf", pairs="logged"))
    data = next(Path("out/pairs").iterdir()).read_bytes()
    assert b"@corp.com" not in data
    assert data.count(b".example") == 3


@pytest.mark.parametrize("options", [{"min_turns": 9}, {"where": "turns > 9"}], ids=str)
def test_a_session_without_a_record_has_no_pairs(here, options):
    assert told(rewound(), here, **options) == []
    assert manifest()["counts"]["pairs"] == {}
    assert "pairs" not in Path("out/README.md").read_text().split("## ")[0]


def test_pairs_are_in_the_split_of_their_session(here):
    for number in range(20):
        lines = json.loads(json.dumps(rewound()).replace("Why?", f"Why {number}?").replace('"s1"', f'"s{number}"'))
        write_log(here / f"logs/{number}.jsonl", *lines)
    convert("logs", "out", Options(preset="hf", pairs="logged", split="train=0.5,test=0.5"))
    for split in ("train", "test"):
        records = [json.loads(line) for line in next(Path("out/data").glob(f"{split}-*")).read_bytes().splitlines()]
        prompts = [each["messages"][1]["content"] for each in records]
        assert [each["prompt"][1]["content"] for each in pairs(split=split)] == prompts
        assert prompts


def branching(**members):
    """A conversation of Claude Code in which a reply was asked for again."""
    row = {"sessionId": "s", "version": "2.1.0", "isSidechain": False, "cwd": "/x", "userType": "external"}

    def line(uuid, parent, minute, message):
        kind = "user" if message["role"] == "user" else "assistant"
        time = f"2026-01-01T00:{minute:02}:00Z"
        return {**row, "type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": time, "message": message}

    def reply(text, ident):
        body = {"id": ident, "model": "c", "role": "assistant", "type": "message", "stop_reason": "end_turn"}
        return {**body, "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 1}}

    return [
        line("1", None, 0, WHY), line("2", "1", 1, reply(OTHER, "m1")), *members.get("left", ()),
        line("5", "1", 5, reply(ONE, "m2")), line("6", "5", 6, user("Mend it.")), line("7", "6", 7, reply("Done.", "m3")),
    ], line, reply  # fmt: skip


@pytest.mark.parametrize("is_left", [False, True])
def test_pairs_of_an_agents_file(here, is_left):
    _, line, reply = branching()
    left = [line("3", "2", 2, user("No.")), line("4", "3", 3, reply("I do not know.", "m9"))] if is_left else []
    lines, _, _ = branching(left=left)
    found = told(lines, here)
    kind, at = ("rewound", 5) if is_left else ("regenerated", 3)
    assert found == [(f"{kind}; chosen a.jsonl:{at}; rejected a.jsonl:2", ONE, OTHER)]


def test_of_many_paths_of_an_agents_file_the_last_one_alone_is_chosen(here):
    _, line, reply = branching()
    lines = [line("1", None, 0, WHY)]
    for at in range(40):
        lines += [
            line(f"a{at}", "1", at, reply(f"Path {at}.", f"m{at}")), line(f"b{at}", f"a{at}", at, user("No.")),
            line(f"c{at}", f"b{at}", at, reply("Well.", f"n{at}")),
        ]  # fmt: skip
    found = told(lines, here)
    assert [each[1:] for each in found] == [("Path 39.", f"Path {at}.") for at in range(39)]


@cases("options, message",
    ({"preset": "openai"}, "preset='openai' does not support pairs; choose one of chat, hf"),
    ({}, "has no effect without format; add it, as in format='jsonl'"),
)  # fmt: skip
def test_pairs_that_cannot_be_written_are_refused(here, options, message):
    write_log(here / "logs/a.jsonl")
    with pytest.raises(UsageError, match=message):
        convert("logs", "out", Options(pairs="logged", **options))


@pytest.mark.parametrize("seed", range(8))
def test_prompts_are_requests_that_were_logged_and_replies_too(here, seed):
    """Both replies of a pair are samples with its prompt; there is one where a reply was replaced by other words."""
    played = play(seed, only=("regenerate", "rewind", "edit", "return", "subagent-parallel", "side-title"))
    for name, data in played.files.items():
        write_log(here / "logs" / name, *data.splitlines())
    options = {"preset": "hf", "anonymize": False, "conversations": "all"}
    convert("logs", "samples", Options(samples="reply", **options))
    (path,) = Path("samples/data").iterdir()
    samples = [json.loads(line) for line in path.read_bytes().splitlines()]
    sampled = {json.dumps([each["prompt"], each["completion"], each.get("tools")]) for each in samples}
    convert("logs", "out", Options(pairs="logged", **options))
    found = pairs()
    assert bool(found) == any(reply.behaviour == "regenerate" for reply in played.truth.replies)
    for pair in found:
        assert pair["chosen"] != pair["rejected"]
        for reply in ("chosen", "rejected"):
            assert json.dumps([pair["prompt"], pair[reply], pair.get("tools")]) in sampled


# Log probabilities

TOKENS = [{"token": "It", "logprob": -0.5, "top_logprobs": []}, {"token": "s", "logprob": -1.25, "top_logprobs": []}]


def with_logprobs(lines):
    for at, line in enumerate(lines):
        line["response"]["choices"][0] |= {
            "logprobs": {"content": TOKENS[: at + 1], "refusal": None},
            "token_ids": [at, 7],
        }
    return lines


def kept(here, lines, **options):
    write_log(here / "logs/a.jsonl", *lines)
    convert("logs", "out", Options(preset="hf", keep="logprobs", **options))
    (path,) = Path("out/data").iterdir()
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("options", [{}, {"conversations": "all"}, {"loss": "weight"}], ids=str)
def test_log_probabilities_stand_with_the_replies_that_they_are_of(here, options):
    (record,) = kept(here, with_logprobs(logs.grows()), **options)
    held = [each.get("logprobs") for each in record["messages"]]
    one, two = {"content": TOKENS[:1], "token_ids": [0, 7]}, {"content": TOKENS, "token_ids": [1, 7]}
    assert held == [None, None, one, None, two]


def test_they_stand_in_samples_too(here):
    one, two = kept(here, with_logprobs(logs.grows()), samples="reply")
    assert [each["completion"][0]["logprobs"]["token_ids"] for each in (one, two)] == [[0, 7], [1, 7]]
    assert not any("logprobs" in message for message in two["prompt"])


def test_they_stand_with_all_replies_that_a_sample_trains_on(here):
    (here / "t.jinja").write_text(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    asked = {"samples": "auto", "sample_shape": "messages", "template": pack(str(here / "t.jinja")), "loss": "weight"}
    (record,) = kept(here, with_logprobs(logs.grows()), **asked)
    assert [each.get("logprobs", {}).get("token_ids") for each in record["messages"]] == [
        None, None, [0, 7], None, [1, 7],
    ]  # fmt: skip


def test_what_the_client_worded_anew_has_none(here):
    lines = with_logprobs(logs.grows())
    lines[1]["request"]["messages"][2] = assistant("The test of sums.  ")
    (record,) = kept(here, lines)
    assert [("logprobs" in each) for each in record["messages"]] == [False, False, False, False, True]


def test_those_of_a_stream_are_put_together(here):
    (line,) = logs.grows()[:1]
    chunks = [
        {
            "choices": [
                {"index": 0, "delta": {"content": each["token"]}, "logprobs": {"content": [each]}, "token_ids": [at]}
            ]
        }
        for at, each in enumerate(TOKENS)
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    line["response"] = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
    (record,) = kept(here, [line])
    assert record["messages"][-1]["logprobs"] == {"content": TOKENS, "token_ids": [0, 1]}


def test_only_hf_has_a_place_for_them(here):
    write_log(here / "logs/a.jsonl")
    with pytest.raises(UsageError, match="has no effect without preset='hf'; add it"):
        convert("logs", "out", Options(keep="logprobs"))
