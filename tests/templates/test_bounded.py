"""Templates that take all time or memory, or cannot be compiled: what they cost, and what is said of them."""

import os
from contextlib import suppress

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.templates.confined import RenderBounds, Template
from chatsquash.templates.render import Renderer
from chatsquash.templates.worker import trial
from tests.checks.rows import assistant, user
from tests.conftest import cases

from .records import FAMILIES, ONE_CALL, PLAIN, TEXT_BESIDE, TOOLS, TWO_CALLS, family

HI = [user("hi")]
LATE = "OutOfTimeError: the record takes longer than 1 s (--render-time allows more)"
LARGE = "OutOfMemoryError: the record takes more than 200,000,000 bytes of memory (--render-memory allows more)"
FAST, LEAN = RenderBounds(1, 10**9), RenderBounds(20, 200_000_000)
LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def template(tmp_path, text, bounds=LEAN):
    (tmp_path / "a.jinja").write_text(text, encoding="utf-8", errors="surrogateescape")
    return Template(str(tmp_path / "a.jinja"), bounds)


BEYOND = [
    ("loops in loops", LOOPS, FAST, LATE),
    ("one long call", "{% set n = messages | length %}{{ (7 * n) ** (10 ** 9 * n) }}", FAST, LATE),
    ("a text of 10 GB", "{% set n = messages | length %}{{ 'a' * (n * 10 ** 10) }}", LEAN, LARGE),
    ("a list that grows", "{% set ns = namespace(x=[1]) %}{% for i in range(50) %}{% set ns.x = ns.x + ns.x %}{% endfor %}", LEAN, LARGE),
    ("a text of the widest format", "{% set n = messages | length %}{{ ('%%%dd' % (n * 10 ** 9)) % 1 }}", LEAN, LARGE),
]  # fmt: skip


def beyond(tmp_path, text, bounds):
    """A template that takes this for one record, and nothing for the others."""
    return template(tmp_path, f"{{% if messages[0].content == 'hi' %}}{text}{{% else %}}fine{{% endif %}}", bounds)


@pytest.mark.parametrize("sentence, text, bounds, problem", BEYOND, ids=[row[0] for row in BEYOND])
def test_a_record_that_takes_more_than_it_may_is_ended_and_the_next_is_rendered(
    tmp_path, sentence, text, bounds, problem
):
    made = beyond(tmp_path, text, bounds)
    assert made.render(HI, None) == (None, problem)
    assert made.render([user("ho")], None) == ("fine", "")


@pytest.mark.parametrize(
    "sentence, text, bounds, problem",
    [pytest.param(*row, id=row[0], marks=pytest.mark.long if row[2] is FAST else ()) for row in BEYOND],
)
def test_a_trial_that_takes_more_than_it_may_is_ended_too(tmp_path, sentence, text, bounds, problem):
    made = beyond(tmp_path, text, bounds)
    tried = made.try_variant(HI, None, 20)
    assert (tried.text, tried.problem, tried.beyond) == (None, problem, True)
    assert not made.try_variant([user("ho")], None, 20).beyond


@cases("text, problem",
    ("an endless range", "{% for i in range(10 ** 9) %}{% endfor %}", "OverflowError"),
    ("a class", "{{ messages.__class__ }}{{ messages.__class__.__mro__ }}", "SecurityError"),
    ("a macro that calls itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
    ("a text that is too deep to be spelled", "{% set n = namespace(x=[]) %}{% for i in range(5000) %}{% set n.x = [n.x] %}{% endfor %}{{ raise_exception(n.x) }}", "TemplateError: the message is nested too deeply to be shown"),
    ("a filter that is not there", "{% if messages %}{{ 1 | nothing_like_it }}{% endif %}", "TemplateRuntimeError"),
)  # fmt: skip
def test_what_raises_is_told_and_the_process_goes_on(tmp_path, text, problem):
    made = template(tmp_path, text)
    process = made._process
    assert made.render(HI, None).problem.startswith(problem)
    assert made._process is process


def test_a_rendering_that_nobody_could_train_on_is_none(monkeypatch):
    monkeypatch.setattr("chatsquash.templates.render.LONGEST", 3)
    problem = "OverflowError: the rendering has more than 3 characters"
    assert Renderer(family("json_calls"))(HI, None) == (None, problem)


@cases("text, message",
    ("a tag out of place", "{% break %}", "not a template (SyntaxError: 'break' outside loop"),
    ("a tag that is wrong", "a\nb {% for %}", "not a template (line 2: Expected an expression, got 'end of statement block')"),
    ("a test that is not there", "{{ 1 is nothing_like_it }}", "not a template (line 1: No test named 'nothing_like_it'.)"),
    ("blocks too deep", "{% if 1 %}" * 300 + "{% endif %}" * 300, "not a template ("),
    ("an expression too deep", "{{ " + "-" * 50_000 + "1 }}", "not a template ("),
    ("names that are none", "{{ a.b\x00 }}", "not a template (line 1: "),
    ("bytes that are no text", "\udcff", "not valid UTF-8"),
)  # fmt: skip
def test_what_does_not_compile_is_told(tmp_path, text, message):
    with pytest.raises(UsageError) as caught:
        template(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/a.jinja: {message}")


def test_parentheses_are_compiled_or_refused(tmp_path):
    made = None
    with suppress(UsageError):  # by some versions of Python
        made = template(tmp_path, "{{ " + "(" * 500 + "1" + ")" * 500 + " }}")
    assert made is None or made.render(HI, None).text == "1"


@cases("text, bounds, message",
    ("time", "{{ 9 ** (9 ** (9 ** 9)) }}", FAST, "compiling it takes longer than 1 s (--render-time allows more)"),
    ("memory", "x{{ messages }}" * 20_000, RenderBounds(20, 10_000_000), "compiling it takes more than 10,000,000 bytes of memory (--render-memory allows more)"),
)  # fmt: skip
def test_compiling_is_bounded(tmp_path, text, bounds, message):
    with pytest.raises(UsageError) as caught:
        template(tmp_path, text, bounds)
    assert str(caught.value) == f"{tmp_path}/a.jinja: the template cannot be used: {message}"


class Hasty(RenderBounds):
    slow = 0.005


def test_a_template_is_given_up_after_20_records_that_are_slow(tmp_path):
    loop = "{% for a in range(200) %}{% for b in range(9999) %}{% endfor %}{% endfor %}x"
    made = template(tmp_path, loop, Hasty(20, 10**9))
    for _ in range(20):
        assert made.given_up == ""
        made.render(HI, None)
    assert made.given_up == "stopped after 20 records that took over 0.005 s each (--render-time allows more)"


def test_a_record_is_slow_when_it_takes_a_tenth_of_its_time(tmp_path):
    made = template(tmp_path, "x", RenderBounds())
    for _ in range(20):
        assert made.given_up == ""
        made.count_slow(1.0)
        made.count_slow(1.1)
    assert made.given_up == "stopped after 20 records that took over 1 s each (--render-time allows more)"


@pytest.mark.parametrize("name", sorted(path.stem for path in FAMILIES.glob("*.jinja")))
def test_a_good_template_gives_what_it_gives_in_this_process(name):
    here, apart = Renderer(family(name)), Template(family(name))
    odd = [user("\ud800 ä\u2028"), assistant("", reasoning_content="Hm.", n=10**30, f=1e-7)]
    for messages in (PLAIN, ONE_CALL, TWO_CALLS, TEXT_BESIDE, odd, []):
        for tools in (None, [], TOOLS, "none"):
            assert apart.render(messages, tools) == here(messages, tools)
            expected = trial(here, messages, tools)
            apart.begin(messages, tools)
            assert apart.trial(messages) == expected._replace(text=expected.text and "")


def test_one_process_compiles_once_for_all_records(tmp_path):
    made = template(tmp_path, "{{ messages[0].content }}")
    process = made._process
    assert [made.render([user(f"{n}")], None).text for n in range(50)] == [f"{n}" for n in range(50)]
    assert made._process is process


def test_what_was_begun_and_not_asked_for_is_not_taken_for_the_next(tmp_path):
    made = template(tmp_path, "{{ messages[0].content }}")
    made.begin([user("first")], None)
    assert made.render([user("second")], None).text == "second"


def test_a_clock_is_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "XYZ+3")
    assert template(tmp_path, "{{ strftime_now('%Z') }}").render(HI, None).text in ("XYZ", "")
    assert os.environ["TZ"] == "XYZ+3"
