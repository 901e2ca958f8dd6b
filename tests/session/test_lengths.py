"""Records of at most so many tokens: dropped or cut, counted and told."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from chatsquash import Options, convert_session
from chatsquash.core.errors import UsageError
from chatsquash.templates.counting import Tokenizer as TokenCounts
from tests.conftest import assistant, cases, log_line, user, write_log
from tests.outputs import report
from tests.templates.inference import TEMPLATES
from tests.trees.logs import calling, result

WORDS = Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))
WORDS.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
TOKENIZER = WORDS.to_str().encode()
SYSTEM = {"role": "system", "content": "Be brief."}
LOGGED = [
    SYSTEM, user("one two three"), calling("ls", "{}"), result("a b"), assistant("four five"), user("six"),
    assistant("seven eight nine ten"), user("eleven"),
]  # fmt: skip


def lines(*, finish="stop"):
    """A session of three exchanges, each request of which holds the one before it."""
    asked = [at for at, message in enumerate([*LOGGED, assistant("twelve")]) if message["role"] == "assistant"]
    said = [*LOGGED, assistant("twelve")]
    return [
        {
            "timestamp": f"2026-01-13T10:{at:02}:00Z",
            "session_id": "s1",
            "request": {"messages": said[:at]},
            "response": {"id": f"r{at}", "choices": [{"message": said[at], "finish_reason": finish}]},
        }
        for at in asked
    ]


def outcome(**options):
    given = Options(anonymize=False, **{"tokenizer": TOKENIZER, **options})
    (found,) = convert_session([json.dumps(line) for line in lines()], given)
    return found


@cases(
    "most, messages, tokens, replies",
    ("what fits stays", 18, 9, 18, 4),
    ("the last exchange goes", 17, 7, 16, 3),
    ("at the very number", 16, 7, 16, 3),
    ("and the one before it", 15, 5, 11, 2),
    ("at the very number again", 11, 5, 11, 2),
    ("between the rounds of an agent", 10, 3, 7, 1),
)
@pytest.mark.parametrize("preset", ["chat", "hf", "openai", "mistral", "text"])
def test_whole_exchanges_are_left_off_the_end(most, messages, tokens, replies, preset):
    if preset in ("text", "mistral"):
        most = 10**6 if most == 18 else outcome(preset=preset, max_tokens=10**6).records[0].tokens - (18 - most)
    found = outcome(preset=preset, max_tokens=most, too_long="cut", loss="weight" if preset != "hf" else "training")
    (record,) = found.records
    held = json.loads(record.line)["messages"]
    assert (len(held), found.replies.coverage.carried) == (messages, replies)
    assert found.replies.coverage.lost == ({"cut": 4 - replies} if replies < 4 else {})
    assert record.tokens == tokens or preset in ("text", "mistral")
    assert held[-1]["role"] == "assistant"
    assert [each["text"] for each in map(vars_of, found.findings) if each["code"] == "truncated-to-fit"] == (
        []
        if replies == 4
        else [f"the record had {full(preset)} tokens, more than {most}: {left(replies)} removed from its end"]
    )


def vars_of(finding):
    return finding._asdict()


def full(preset):
    return outcome(preset=preset, max_tokens=10**6).records[0].tokens


def left(replies):
    return "1 exchange" if replies == 3 else f"{4 - replies} exchanges"


def test_a_record_whose_first_reply_does_not_fit_is_filtered(tmp_path, monkeypatch):
    from chatsquash import convert

    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *lines())
    write_log(tmp_path / "logs/b.jsonl", log_line("short"))
    for too_long in ("drop", "cut"):
        options = Options(anonymize=False, tokenizer=TOKENIZER, max_tokens=6, too_long=too_long, replace=True)
        summary = convert("logs", "out", options)
        assert (summary.written, dict(summary.filtered)) == (1, {"--max-tokens": 1})
        rows = report("sessions.jsonl")
        assert [(row["tokens"], row["filtered"]) for row in rows] == [(None, "--max-tokens"), (2, None)]


def test_a_reply_that_became_several_messages_is_not_cut_within():
    both = calling("ls", "{}", text="one")
    both["tool_calls"].append({**both["tool_calls"][0], "id": "call_2"})
    answered = [SYSTEM, user("a"), both, result("b"), result("c", "call_2"), assistant("d e f g h")]
    log = [log_line(*answered[:-1], reply="d e f g h")]
    for options in ({"split_parallel": True}, {"split_text_and_calls": True}, {}):
        kept = outcome_of(log, preset="hf", max_tokens=12, too_long="cut", **options)
        replies = [message for message in kept if message["role"] == "assistant"]
        assert sum(len(message.get("tool_calls", ())) for message in replies) in (0, 2)


def outcome_of(log, **options):
    """The messages of the record of a log, if it has one."""
    found = convert_session(
        [json.dumps(line) for line in log], Options(anonymize=False, tokenizer=TOKENIZER, **options)
    )[0]
    return json.loads(found.records[0].line)["messages"] if found.records else []


def test_flags_of_what_stays_do_too():
    held = json.loads(outcome(preset="hf", loss="training", max_tokens=16, too_long="cut").records[0].line)
    assert [each["training"] for each in held["messages"] if "training" in each] == [True] * 3


def test_tokens_of_a_template_are_those_of_the_rendering():
    template = json.dumps([{"default": "{% for m in messages %}{{ m.content }} end {% endfor %}"}, {}]).encode()
    assert outcome(preset="hf", template=template).records[0].tokens == 25
    refuses = json.dumps([{"default": "{{ raise_exception('no') }}"}, {}]).encode()
    found = outcome(preset="hf", template=refuses)
    assert (found.records, found.left_out) == ([], "not-rendered")


def test_samples_are_compared_by_tokens_where_there_is_a_tokenizer():
    template = json.dumps([{"default": TEMPLATES["bare"]}, {}]).encode()
    assert len(outcome(preset="hf", samples="auto", template=template).records) == 1


@cases(
    "samples, instead",
    ("a reply", "reply", "front"),
    ("the last reply", "last", "front"),
    ("a forest", "forest", "front"),
    ("the first reply", "first", "drop"),
    ("a group of replies", "auto", "drop"),
)
def test_samples_that_end_with_their_reply_cannot_be_cut(samples, instead):
    more = {"template": json.dumps([{"default": TEMPLATES["bare"]}, {}]).encode()} if samples == "auto" else {}
    with pytest.raises(UsageError) as caught:
        outcome(preset="hf", samples=samples, max_tokens=9, too_long="cut", **more)
    why = "a sample ends with a reply that is trained on, so nothing can be removed from its end"
    assert str(caught.value) == f"too_long='cut' with samples={samples!r}: {why}; use too_long={instead!r}"


ADDED = [
    AddedToken("<a>", special=True), AddedToken("<a>>", special=True), AddedToken("<l>", special=True, lstrip=True),
    AddedToken("<r>", special=True, rstrip=True), AddedToken("<n>", normalized=True),
]  # fmt: skip
SCHEMES = [
    pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.ByteLevel(add_prefix_space=True),
    pre_tokenizers.Metaspace(prepend_scheme="first"), pre_tokenizers.Metaspace(prepend_scheme="always"),
]  # fmt: skip


@pytest.mark.parametrize("added", [ADDED, [*ADDED, AddedToken("<w>", special=True, single_word=True)], []])
@pytest.mark.parametrize("scheme", SCHEMES, ids=["bytes", "spaced bytes", "first", "always"])
@given(
    texts=st.lists(
        st.lists(st.sampled_from(["<a>", "<a>>", "<l>", "<r>", "<n>", "<w>", " ", "x", "xy", "<", ">"])), max_size=3
    )
)
@settings(max_examples=25)
def test_tokens_are_those_of_the_whole_text_whatever_was_seen_before(added, scheme, texts):
    pieces = [
        "x", "y", " ", "\u0120", "\u2581", "<", ">", "a", "l", "r", "n", "w", "\u0120x", "\u2581x", "xy", "x<", ">>",
        "x>",
    ]  # fmt: skip
    whole = Tokenizer(models.BPE({piece: at for at, piece in enumerate(pieces)}, [("x", "y"), ("x", "<"), (">", ">")]))
    whole.pre_tokenizer = scheme
    whole.add_tokens(added)
    counted = TokenCounts(whole.to_str().encode())
    for text in map("".join, texts):
        ids = whole.encode(text, add_special_tokens=False).ids
        assert counted.token_bytes(text) == b"".join(each.to_bytes(4, "big") for each in ids)


def test_what_is_no_tokenizer_is_told():
    with pytest.raises(UsageError, match=r"not a tokenizer\.json"):
        convert_session([json.dumps(log_line("a"))], Options(anonymize=False, tokenizer=b"{}", max_tokens=1))


@pytest.mark.parametrize("samples", ["session", "auto"])
def test_a_text_that_the_tokenizer_refuses_costs_its_record(samples):
    template = json.dumps([{"default": TEMPLATES["bare"]}, {}]).encode()
    tokenizer = Tokenizer(models.WordLevel({"x": 0}, unk_token="y")).to_str().encode()
    found = outcome(preset="hf", samples=samples, template=template, tokenizer=tokenizer)
    assert (found.records, found.left_out) == ([], "not-rendered")
    assert any("the tokenizer rejects the text" in str(each) for each in found.findings)


def test_more_tokens_never_keep_less():
    kept = [
        len(json.loads(each.line)["messages"])
        for most in range(11, 20)
        for each in outcome(max_tokens=most, too_long="cut").records
    ]
    assert all(one <= other for one, other in pairwise(kept))


def test_a_folder_with_a_template_and_a_tokenizer_needs_no_other_name(command, here):
    (here / "model").mkdir()
    (here / "model/chat_template.jinja").write_text(TEMPLATES["bare"])
    (here / "model/tokenizer.json").write_bytes(TOKENIZER)
    write_log(here / "logs/a.jsonl", log_line("one two three"))
    for named in (["--template", "model"], ["--template", "model", "--tokenizer", "model"]):
        ended = command("convert", "logs", "--preset", "hf", "--replace", "--max-tokens", "1000", *named)
        assert (ended.code, ended.err.startswith("1 record ")) == (0, True)
        (row,) = report("sessions.jsonl")
        assert row["tokens"] > 4
    assert "tokens" in command("stats", "out", "--template", "model").out
    (here / "model/tokenizer.json").unlink()
    ended = command("convert", "logs", "--preset", "hf", "--replace", "--max-tokens", "1000", "--template", "model")
    assert (ended.code, "or add --template with a model that has both" in ended.err) == (2, True)
