"""``check --template``: what is found, what fixes it, and what is shown."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert
from chatsquash.checks import rules
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation
from chatsquash.records import StoredRecord
from chatsquash.results.remedies import REMEDIES, as_flags, record_of
from chatsquash.results.template import Trials, show
from tests.checks.rows import assistant, call, result, user
from tests.conftest import log_line, write_log
from tests.templates.records import (
    ANSWER,
    FAMILIES,
    ONE_CALL,
    PLAIN,
    SYSTEM,
    TEXT_BESIDE,
    TOOLS,
    TWO_CALLS,
    family,
    grep,
)

PARTS = [user([{"type": "text", "text": "What is this?"}]), assistant("A lamp.")]
BROKEN = [SYSTEM, user(), assistant("", call(arguments="{")), result(), ANSWER]
TWICE = [user("Hello?"), user("Is it late?"), assistant("It is.")]
THOUGHT = [user("Is it late?"), assistant("It is.", reasoning_content="Look at the clock.")]
HF = "--preset hf fixes it"
KEYS = ["id", "type", "function", "name", "arguments", "text", "description", "reasoning_content", "thinking", "a"]
NOWHERE = FAMILIES.parent / "nothing.jinja"
"""A template that shows nothing."""
TRIALS: dict[str, Trials] = {}

# family, sentence, messages, tools, code, remedy: the record is one of the preset chat
ROWS = [
    ("json_calls", "arguments that are encoded twice", ONE_CALL, TOOLS, "template-arguments-twice", HF),
    ("json_calls", "tools that are not wrapped", ONE_CALL, TOOLS, "template-tools-flat", HF),
    ("json_calls", "a later system message", [*PLAIN, SYSTEM, assistant("Yes.")], [], "template-system-lost", HF),
    ("json_calls", "parts", [SYSTEM, *PARTS], [], "template-error", HF),
    ("xml_calls", "arguments as text", ONE_CALL, TOOLS, "template-error", HF),
    ("xml_calls", "arguments that are none", BROKEN, TOOLS, "template-error", "--preset text fixes it"),
    ("string_arguments", "no tools in a template", ONE_CALL, TOOLS, "template-tool-lost", "--preset text fixes it"),
    ("single_call", "several calls", TWO_CALLS, TOOLS, "template-error", "--preset hf --split-parallel fixes it"),
    ("single_call", "text beside calls", TEXT_BESIDE, TOOLS, "template-text-lost", "--preset hf --split-text-and-calls fixes it"),
    ("single_call", "both", [*TWO_CALLS[:2], {**TWO_CALLS[2], "content": "I look."}, *TWO_CALLS[3:]], TOOLS, "template-error", "--preset hf --split-parallel --split-text-and-calls fixes it"),
    ("single_call", "an empty list of tools", PLAIN, [], "template-tools-empty", HF),
    ("nine_letter_ids", "ids", ONE_CALL, TOOLS, "template-error", "--preset hf --tool-ids short9 fixes it"),
    ("nine_letter_ids", "turns that do not alternate", TWICE, [], "template-error", "--preset hf --merge-consecutive fixes it"),
    ("nine_letter_ids", "both", [*TWICE[:2], assistant("", grep()), result(), ANSWER], TOOLS, "template-error", "--preset hf --merge-consecutive --tool-ids short9 fixes it"),
    ("text_or_calls", "text beside calls", TEXT_BESIDE, TOOLS, "template-text-lost", "--preset hf --split-text-and-calls fixes it"),
    ("wrapped_only", "tools that are passed over", ONE_CALL, TOOLS, "template-tool-lost", HF),
    ("first_call", "the second call", TWO_CALLS, [], "template-call-lost", "--preset hf --split-parallel fixes it"),
    ("key_value_calls", "null content", [user(), assistant(None), user(), assistant()], [], "template-null", HF),
    ("no_system", "a system message", PLAIN, [], "template-error", "--preset hf --system drop fixes it"),
    ("no_system", "results", ONE_CALL[1:], [], "template-error", "--preset text fixes it"),
    ("no_system", "both", ONE_CALL, [], "template-error", "--preset text --system drop fixes it"),
    ("as_python", "parts", PARTS, [], "template-python", HF),
    ("as_python", "a system message", PLAIN, [], "template-system-lost", "no preset or other option fixes it"),
    ("as_python", "reasoning", THOUGHT, [], "template-reasoning-lost", "--preset hf --reasoning inline fixes it"),
    ("own_syntax", "tools that are not wrapped", ONE_CALL, TOOLS, "template-error", HF),
]  # fmt: skip


def write(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def found(command, path, name):
    ended = command("check", path, "--template", family(name), "--json")
    return [each for each in map(orjson.loads, ended.out.splitlines()) if each["code"].startswith("template-")]


@pytest.mark.parametrize(
    "name, sentence, messages, tools, code, remedy", ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS]
)
def test_a_remedy_is_named_and_mends(command, tmp_path, name, sentence, messages, tools, code, remedy):
    path = write(tmp_path / "data.jsonl", {"messages": messages, "tools": tools})
    facts = {each["code"]: each["text"] for each in found(command, path, name)}
    assert facts[code].endswith(f": {remedy}")
    options = next((options for options in REMEDIES if f"{as_flags(options)} fixes it" == remedy), None)
    if options:
        write(path, record_of(Conversation(messages, tools), options))
        assert code not in {each["code"] for each in found(command, path, name)}


def test_options_that_cure_are_options_of_convert(command, tmp_path):
    write_log(tmp_path / "a.jsonl", log_line("hi"))
    for number, options in enumerate(REMEDIES):
        ended = command("convert", tmp_path / "a.jsonl", "-qo", tmp_path / str(number), *as_flags(options).split())
        assert (ended.code, ended.err) == (0, "")


def test_what_a_cure_promises_convert_keeps(command, tmp_path):
    log = log_line(*TWO_CALLS[:-1], reply=ANSWER, tools=TOOLS)
    write_log(tmp_path / "a.jsonl", log)
    convert(tmp_path / "a.jsonl", tmp_path / "before", Options(anonymize=False))
    convert(tmp_path / "a.jsonl", tmp_path / "after", Options(preset="hf", split_parallel=True, anonymize=False))
    assert found(command, tmp_path / "before", "single_call")
    assert found(command, tmp_path / "after", "single_call") == []


def test_to_drop_reasoning_is_no_cure_for_its_loss(command, tmp_path):
    (tmp_path / "a.jinja").write_text("{% for m in messages %}{{ m.content.split('</think>')[-1] }}{% endfor %}")
    write(tmp_path / "data.jsonl", {"messages": THOUGHT})
    ended = command("check", tmp_path / "data.jsonl", "--template", tmp_path / "a.jinja")
    assert "[template-reasoning-lost]" in ended.out
    assert "no preset or other option fixes it" in ended.out


def test_what_helped_often_is_tried_first_but_not_taken_for_granted(command, tmp_path):
    parts = {"messages": PARTS, "tools": []}
    malformed = [assistant("", call(arguments="{")), result(), ANSWER, *PARTS]  # the first reply, so that hf refuses it
    broken = {"messages": [user(), *malformed], "tools": []}
    path = write(tmp_path / "data.jsonl", broken, *[parts] * 25, broken, parts)
    texts = [each["text"].rpartition(": ")[2] for each in found(command, path, "as_python")]
    other = "--preset openai fixes it"
    assert texts == [other, *[HF] * 25, other, HF]


def test_a_cure_that_helped_often_is_found_by_one_trial(monkeypatch):
    tried = []
    trials = Trials(family("single_call"))
    monkeypatch.setattr(
        "chatsquash.results.remedies.record_of", lambda *given: tried.append(given) or record_of(*given)
    )
    for _ in range(21):
        list(trials.look(StoredRecord(TWO_CALLS, [])))
    assert len(tried) == 20 * 3 + 1


def test_the_command_counts_by_code_and_cure(command, tmp_path):
    whole, twice = {"messages": [user(), assistant()]}, {"messages": ONE_CALL[1:], "tools": TOOLS}
    path = write(tmp_path / "data.jsonl", whole, twice, twice, [])
    ended = command("check", path, "--template", family("json_calls"))
    assert ended.code == 3
    lines = ended.err.splitlines()
    assert " ".join(lines[: lines.index("")]).startswith(f"3 records rendered with {family('json_calls')}: 1 complete")
    assert lines[lines.index("") + 1 :][:2] == [
        "template-arguments-twice  2  --preset hf fixes it",
        "template-tools-flat       2  --preset hf fixes it",
    ]
    assert lines[-1] == "chatsquash convert LOGS --preset hf  # nothing remains, 2 records tried"

    twice_found = "arguments are encoded twice, as JSON within a JSON string: 'grep'"
    flat_found = "flat tool definitions render differently than the wrapped ones that models are trained with"
    assert ended.out.splitlines()[1:3] == [
        f"ERROR\tsession=data\tinput={path}:2\t[template-arguments-twice] messages[1]: {twice_found}: --preset hf fixes it",
        f"WARNING\tsession=data\tinput={path}:2\t[template-tools-flat] {flat_found}: --preset hf fixes it",
    ]


LATE = [user(), assistant("", grep()), result(), user("And now?"), assistant("Late.", reasoning_content="Well.")]
# family, sentence, the messages of the records, the line
LINES = [
    ("json_calls", "all are whole", [PLAIN], ""),
    ("single_call", "what several records need is in it once", [TWO_CALLS, TEXT_BESIDE, TWO_CALLS], "--preset hf --split-parallel --split-text-and-calls  # nothing remains, 3 records tried"),
    ("nine_letter_ids", "what is idle in it is left out", [TWICE, ONE_CALL], "--preset hf --merge-consecutive --tool-ids short9  # nothing remains, 2 records tried"),
    ("nine_letter_ids", "what the user says behind a result", [LATE], "--preset hf --reasoning inline --bridge-results join --tool-ids short9  # nothing remains, 1 record tried"),
    ("no_system", "a prompt that is dropped is lost", [PLAIN], "--preset hf --system drop  # remaining: template-system-lost 1, 1 record tried"),
    ("as_python", "what presets cannot hold is not tried", [PARTS, BROKEN], "--preset hf  # nothing remains, 1 record tried, 1 that presets cannot represent"),
    ("as_python", "presets hold nothing", [[{"role": "system", "content": "Be brief."}]], "no preset can represent 1 record that the template renders incompletely"),
    ("as_python", "what stays is told", [PARTS, PLAIN], "--preset hf  # remaining: template-system-lost 1, 2 records tried"),
    ("as_python", "reasoning", [THOUGHT], "--preset hf --reasoning inline  # nothing remains, 1 record tried"),
    ("thinking", "reasoning of earlier turns is no reason for text", [[*THOUGHT, *THOUGHT]], "no preset or other option fixes it  # remaining: template-reasoning-lost 1, 1 record tried"),
]  # fmt: skip


@pytest.mark.parametrize("name, sentence, records, line", LINES, ids=[f"{row[0]}: {row[1]}" for row in LINES])
def test_one_line_mends_all_that_can_be_mended(command, tmp_path, name, sentence, records, line):
    path = write(tmp_path / "data.jsonl", *({"messages": messages} for messages in records))
    last = command("check", path, "--template", family(name)).err.splitlines()[-1:]
    told = [each.removeprefix("chatsquash convert LOGS ") for each in last if "  # " in each or "no preset" in each]
    assert told == [line][: bool(line)]


def test_the_line_is_one_of_convert_and_does_what_it_says(command, tmp_path):
    logs = [TWO_CALLS, TEXT_BESIDE, ONE_CALL, PLAIN]
    for number, messages in enumerate(logs):
        write_log(tmp_path / "logs" / f"{number}.jsonl", log_line(*messages[:-1], reply=messages[-1], tools=TOOLS))
    command("convert", tmp_path / "logs", "-qo", tmp_path / "before", "--preset", "hf")
    last = command("check", tmp_path / "before", "--template", family("single_call")).err.splitlines()[-1]
    options = last.removeprefix("chatsquash convert LOGS ").partition("  #")[0].split()
    command("convert", tmp_path / "logs", "-qo", tmp_path / "after", *options)
    assert found(command, tmp_path / "before", "single_call")
    assert found(command, tmp_path / "after", "single_call") == []


def test_records_that_are_whole_end_well(command, tmp_path):
    path = write(tmp_path / "data.jsonl", record_of(Conversation(ONE_CALL, TOOLS), Options(preset="hf")))
    ended = command("check", path, "--template", family("json_calls"))
    assert (ended.code, ended.out) == (0, "")
    assert (
        ended.err.split()
        == f"1 record rendered with {family('json_calls')}: 1 complete nothing needs attention".split()
    )


def test_a_rendering_is_shown_with_what_would_harm_a_terminal_escaped(command, tmp_path):
    path = write(tmp_path / "a.jsonl", {"messages": PLAIN}, {"messages": [user("\x1b[2J\u202e"), assistant("ä\nb")]})
    ended = command("check", path, "--template", family("json_calls"), "--show", "2")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "<|im_start|>user\n\\x1b[2J\\u202e<|im_end|>\n<|im_start|>assistant\nä\nb<|im_end|>\n\n"


def test_records_are_counted_over_all_datasets(tmp_path):
    paths = [str(write(tmp_path / f"{n}.jsonl", {"messages": [user(f"number {n}")]})) for n in range(3)]
    assert "number 2" in show(tuple(paths), family("json_calls"), 3)


NOT_SHOWN = [
    (["--show", "2", "--template", family("json_calls")], 2, "--show 2: the datasets have fewer records"),
    (["--show", "1"], 2, "--show has no effect without --template; add it"),
    (["--show", "1", "--template", family("no_system")], 2, "the template raises TemplateError: System role not supported"),
    (["--template", "nowhere.jinja"], 2, "nowhere.jinja: cannot be read (No such file or directory)"),
]  # fmt: skip


@pytest.mark.parametrize("options, code, message", NOT_SHOWN, ids=[row[2] for row in NOT_SHOWN])
def test_what_cannot_be_shown_is_told(command, tmp_path, options, code, message):
    path = write(tmp_path / "a.jsonl", {"messages": PLAIN})
    ended = command("check", path, *options)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_a_line_that_is_no_record_is_not_shown(tmp_path):
    with pytest.raises(UsageError, match=r"a.jsonl:1: the line is a list"):
        show((str(write(tmp_path / "a.jsonl", [])),), family("json_calls"), 1)


def test_without_jinja_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "chatsquash.templates.render", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match=r"chatsquash\[template\]"):
        Trials(family("json_calls"))


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.just(10**30) | st.floats(allow_nan=False) | st.text("a\ud800<\n", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
MESSAGE = st.builds(
    lambda role, rest: {**rest, "role": role},
    st.sampled_from(["system", "user", "assistant", "tool", "developer", "other"]),
    st.dictionaries(st.sampled_from([*KEYS, "content", "tool_calls"]), ODD, max_size=4),
)
CALLS = st.builds(
    lambda name, arguments, rest: {**rest, "function": {"name": name, "arguments": arguments}},
    ODD | st.just("ls"), ODD | st.just("{}"), st.dictionaries(st.sampled_from(KEYS), ODD, max_size=2),
)  # fmt: skip
CALLING = st.builds(lambda calls: assistant(None, *calls), st.lists(CALLS, max_size=3))


@pytest.mark.parametrize("name", ["json_calls", "as_python", "single_call", "nowhere to be seen"])
@given(messages=st.lists(MESSAGE | CALLING, max_size=4), tools=ODD | st.lists(ODD, max_size=2))
def test_no_record_however_odd_stops_the_trial(name, messages, tools):
    trials = TRIALS.setdefault(name, Trials(family(name) if name != "nowhere to be seen" else str(NOWHERE)))
    for found in trials.look(StoredRecord(messages, tools)):
        assert found.code in rules()


def test_a_record_that_is_too_deep_does_not_stop_the_trial():
    deep = {}
    for _ in range(5000):
        deep = {"a": deep}
    (only, *_) = Trials(str(NOWHERE)).look(StoredRecord([assistant("", call(arguments=deep))], None))
    assert only.code == "template-error"
