"""The corpus plants what it says, in forms that can be read back, and the judge sees what is left of it."""

import base64
import json
import re
from collections import Counter
from random import Random
from urllib.parse import unquote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.redact import corpus, judge, personal, run
from bench.redact.contexts import contexts
from bench.redact.corpus import Case, Kept, Made, Size
from bench.redact.encodings import forms
from bench.redact.kinds import Kind, is_aside, kinds
from bench.redact.lookalikes import lookalikes
from bench.redact.shapes import Value, draw
from bench.redact.transcripts import texts
from tests.conftest import cases

SMALL = Size(plain=1, encoded=1, lookalikes=1, personal=1, ordinary=2)
KIND = Kind("made-up", "key_{a40}", "MADE_UP_TOKEN")
SECRET = "Zq7Vn2Lx8Wd4Rt6Yb3Kc"


def make(text, parts, rest="nothing else", plain="", kept=()):
    case = Case("kind", "context", "plain", beside=bool(plain), aside=False, text=text, parts=parts, plain=plain)
    return Made(
        {"messages": [{"content": text}, {"content": rest}]}, [case], [Kept("a", aside=False, text=k) for k in kept]
    )


@cases(
    "what, names, least",
    ("kinds of secrets", [each.name for each in kinds()], 100),
    ("contexts", [each.name for each in contexts()], 66),
    ("kinds of look-alikes", [each.name for each in lookalikes()], 116),
)
def test_there_are_many_and_about_a_fifth_of_them_is_set_aside(what, names, least):
    assert len(names) >= least
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert 0.15 < sum(map(is_aside, names)) / len(names) < 0.25


def test_each_kind_has_contexts_and_each_context_has_kinds():
    rng = Random(1)
    held = {(kind.name, each.name) for kind in kinds() for each in contexts() if each.holds(kind, kind.draw(rng).text)}
    assert {kind.name for kind in kinds()} == {kind for kind, _ in held}
    assert {each.name for each in contexts()} == {context for _, context in held}


def test_a_context_shows_its_secret_and_leaves_no_field_open():
    rng = Random(2)
    for context in contexts():
        kind = next(kind for kind in kinds() if context.holds(kind, kind.draw(rng).text))
        value = context.around(rng, kind, kind.draw(rng))
        assert all(value.parts()), context.name
        assert not re.search(r"<<[a-zA-Z]+>>", value.text), context.name


@cases(
    "shape, pattern, parts",
    ("ghp_{a36}", r"ghp_[A-Za-z0-9]{36}", 1),
    ("{h8}-{d4}", r"[0-9a-f]{8}-\d{4}", 2),
    ("{A4}{h4}", r"[A-Z2-7]{4}[0-9a-f]{4}", 1),
    ("{~word}:{a8-12}", r"[a-z]+:[A-Za-z0-9]{8,12}", 1),
    ("const x = {y: 1}", r"const x = \{y: 1\}", 0),
)
def test_a_shape_says_what_is_drawn(shape, pattern, parts):
    for seed in range(20):
        value = draw(Random(seed), shape)
        assert re.fullmatch(pattern, value.text)
        assert len(value.parts()) == parts


def _undone(form, text):
    """A text with the form undone, as its reader would."""
    if form.startswith("base64"):
        runs = re.findall(r"[A-Za-z0-9+/]{20,}={0,2}", text)
        return "".join(base64.b64decode(found + "=" * (-len(found) % 4)).decode("latin-1") for found in runs)
    if form.startswith("url"):
        return unquote(text)
    if form.startswith("json"):
        for _ in range(int(form[-1])):
            text = next(each for each in json.loads(text).values() if isinstance(each, str))
        return text
    return re.sub(r"\n(?:[-+>|]? *)", "", text)


@pytest.mark.parametrize("form", [form for form in forms() if form != "base64-lines"])
def test_an_encoded_form_can_be_undone(form):
    context = next(each for each in contexts() if each.name == "dotenv")
    for seed in range(20):
        rng = Random(seed)
        value = KIND.draw(rng)
        _, made = forms()[form](rng, KIND, context, value)
        assert value.text in _undone(form, made.text)
        assert value.text not in made.text or form.startswith(("json", "url-config"))
        assert all(part in made.text for part in made.parts())


def test_lines_of_base64_are_those_of_the_whole_config():
    context = next(each for each in contexts() if each.name == "dotenv")
    value = KIND.draw(Random(1))
    _, made = forms()["base64-lines"](Random(1), KIND, context, value)
    lines = made.text.split("\n")[1:-2]
    assert max(map(len, lines)) == 76
    assert f"MADE_UP_TOKEN={value.text}\n" in base64.b64decode("".join(lines)).decode()


@pytest.mark.parametrize("offset", range(3))
def test_base64_has_each_offset(offset):
    for what in ("value", "config"):
        context, rng = contexts()[0], Random(offset)
        value = KIND.draw(rng)
        _, made = forms()[f"base64-{what}-{offset}"](rng, KIND, context, value)
        (found,) = re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", made.text)
        at = base64.b64decode(found).decode().index(value.text)
        assert (at + 4 * (what == "config")) % 3 == offset  # of a config, that of what is drawn


@given(st.text(max_size=30), st.data())
def test_a_value_that_is_spelled_otherwise_has_its_parts_in_the_same_places(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    value = Value(text, ((start, end),))
    spelled = value.mapped(lambda character: json.dumps(character)[1:-1]).within("before ", " after")
    assert json.loads(f'"{spelled.parts()[0]}"') == value.parts()[0]


def test_a_corpus_is_the_same_each_time():
    one, other = corpus.dense(SMALL), corpus.dense(SMALL)
    assert orjson.dumps([each.record for each in one]) == orjson.dumps([each.record for each in other])
    assert corpus.private(SMALL) == corpus.private(SMALL)
    assert list(corpus.ordinary(SMALL)) == list(corpus.ordinary(SMALL))


def test_all_that_is_planted_stands_in_its_record_and_is_seen_when_it_is_left():
    made = [*corpus.dense(SMALL), *(each for some in corpus.private(SMALL).values() for each in some)]
    assert {case.kind for each in made for case in each.cases} >= {each.name for each in kinds()} | set(
        personal.PERSONAL
    )
    assert {kept.name for each in made for kept in each.kept} >= {each.name for each in lookalikes()}
    for each in made:
        verdict = judge.judged(each, each.record)
        assert [case for case, _ in verdict.missed] == each.cases
        assert verdict.hit == []


def test_nothing_is_missed_where_nothing_is_left():
    for each in corpus.dense(SMALL):
        emptied = {"messages": [{"content": kept.text} for kept in each.kept]}
        assert judge.judged(each, emptied) == ([], [], False)


@cases("made, written, expected",
    ("a secret that is whole is missed", make(f"a {SECRET}", [SECRET]), f"a {SECRET}", True),
    ("a secret of which eight characters are left is missed", make(f"a {SECRET}", [SECRET]), f"a {SECRET[3:11]}", True),
    ("a secret of which seven characters are left is found", make(f"a {SECRET}", [SECRET]), f"a {SECRET[3:10]}", False),
    ("a short part is missed when it is whole", make("a Zq7Vn2", ["Zq7Vn2"]), "a Zq7Vn2", True),
    ("a short part is found when it is not", make("a Zq7Vn2", ["Zq7Vn2"]), "a Zq7Vn", False),
    ("what the rest has, too, is not counted", make("pw SunnyHarbor1", ["SunnyHarbor1"], "useSunnyHar"), "SunnyHar", False),
    (
        "what the plain value beside it has, is counted",
        make(f'{{"a": "{SECRET}"}}', [SECRET], f"b {SECRET}", f"b {SECRET}"),
        f'{{"a": "{SECRET}"}} b <SECRET>',
        True,
    ),
)  # fmt: skip
def test_what_is_left_of_a_secret(made, written, expected):
    assert bool(judge.judged(made, {"messages": [{"content": written}]}).missed) == expected


def test_a_lookalike_that_changes_is_hit():
    made = make("a", ["a"], kept=["token = get_token()\n"])
    assert judge.judged(made, {"messages": [{"content": "x token = get_token()\n y"}]}).hit == []
    assert judge.judged(made, {"messages": [{"content": "x token = <SECRET>\n y"}]}).hit == made.kept


def test_a_record_that_is_left_out_counts_as_missed_and_hit():
    made = make(f"a {SECRET}", [SECRET], kept=["b"])
    verdict = judge.judged(made, None)
    assert (len(verdict.missed), verdict.hit, verdict.left_out) == (1, made.kept, True)


def test_arguments_are_read_as_their_reader_reads_them():
    call = {"function": {"name": "bash", "arguments": json.dumps({"command": 'echo "a"\n'})}}
    assert 'echo "a"\n' in texts({"messages": [{"role": "assistant", "tool_calls": [call]}]})


def test_shares_are_told_apart_by_what_is_set_aside():
    made = corpus.dense(SMALL)
    rows = list(run.shares(made, {"secrets": run.judged(made, lambda line: line)}))
    assert rows[0] == "| recall | `secrets` | `secrets`, held-out |"
    count = Counter(case.aside for each in made for case in each.cases if case.form == "plain")
    assert f"| plain | 0.0% of {count[False]:,} | 0.0% of {count[True]:,} |" in rows
    kept = Counter(kept.aside for each in made for kept in each.kept)
    assert f"| false positives | 0.0% of {kept[False]:,} | 0.0% of {kept[True]:,} |" in rows


def test_what_is_told_names_nothing_that_is_set_aside():
    made = corpus.dense(SMALL)
    verdicts = run.judged(made, lambda line: None)
    told = list(judge.told(verdicts, aside=False))
    named = {(line.split()[1], line.split()[3].strip(",")) for line in told if line.startswith("missed")}
    assert named
    assert not [pair for pair in named if any(map(is_aside, pair))]
    assert not [line for line in told if line.startswith("hit") and is_aside(line.split()[1].strip(":"))]
    assert len(list(judge.told(verdicts, aside=True))) > len(told)


def test_a_page_has_its_region_made_anew():
    page = "a\n\n<!-- generated: bench-redact -->\n\nold\n\n<!-- /generated -->\n\nb\n"
    assert run.with_region(page, "| new \\1 |") == page.replace("old", "| new \\1 |")
    assert run.with_region("a\n", "x") == "a\n\n<!-- generated: bench-redact -->\n\nx\n\n<!-- /generated -->\n"


def test_what_a_run_changes_is_shown():
    before, after = orjson.dumps({"a": "one two three"}), orjson.dumps({"a": "one <X> three"})
    assert list(judge.changes(before, after)) == ["changed 'one two three'"]
    assert list(judge.changes(before, before)) == []
