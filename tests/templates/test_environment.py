"""What templates may do, and what not; ``make train`` compares all of it with transformers."""

import pytest

from chatsquash.templates.render import Renderer
from tests.conftest import cases

HI = [{"role": "user", "content": "<b> 'ä'"}, {"role": "assistant", "content": "ok", "name": None}]


def render(tmp_path, template, messages=HI, tools=None, **given):
    (tmp_path / "a.jinja").write_text(template, encoding="utf-8")
    return Renderer(str(tmp_path / "a.jinja"))(messages, tools, **given)


@cases("template, text",
    ("tojson leaves letters of HTML and others as they are", "{{ messages[0] | tojson }}", '{"role": "user", "content": "<b> \'ä\'"}'),
    ("tojson indents and sorts", "{{ messages[0] | tojson(indent=1, sort_keys=true, ensure_ascii=true) }}", '{\n "content": "<b> \'\\u00e4\'",\n "role": "user"\n}'),
    ("nulls of messages are dropped", "{{ messages[1] }}", "{'role': 'assistant', 'content': 'ok'}"),
    ("blocks take their lines with them", "  {% if true %}\n a\n  {% endif %}\nb\n", " a\nb"),
    ("loops may be left", "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}", "user"),
    ("generation prints its body in a scope of its own", "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}", "21"),
    ("namespaces remember", "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "2"),
    ("a namespace may name itself", "{% set ns = namespace(self=1) %}{{ ns.self }}", "1"),
    ("dict makes a dict", "{{ dict(a=1) }}{{ dict.fromkeys([1]) }}", "{'a': 1}{1: None}"),
    ("tools are none where there are none", "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}", "TrueTrueFalse"),
)  # fmt: skip
def test_a_template_renders(tmp_path, template, text):
    assert render(tmp_path, template) == (text, "")


@cases("template, problem",
    ("raise_exception raises", "{{ raise_exception('not so') }}", "TemplateError: not so"),
    ("messages cannot be changed", "{{ messages.append(1) }}", "SecurityError"),
    ("nor anything in them", "{{ messages[0].update(a=1) }}", "SecurityError"),
    ("Python is out of reach", "{{ ''.__class__.__mro__ }}", "SecurityError"),
    ("also by a namespace", "{% set ns = namespace(_a=1) %}", "SecurityError"),
    ("also by setting", "{% set ns = namespace() %}{% set ns._a = 1 %}", "SecurityError"),
    ("endless ranges are refused", "{{ range(10**9) }}", "OverflowError"),
    ("what is missing may be printed but not looked into", "{{ messages[0].a }}{{ messages[0].a.b }}", "UndefinedError"),
)  # fmt: skip
def test_a_template_is_refused(tmp_path, template, problem):
    text, raised = render(tmp_path, template)
    assert text is None
    assert raised.startswith(problem)


def test_older_versions_passed_nulls_on(tmp_path):
    assert render(tmp_path, "{{ messages[1].name }}", nulls=True).text == "None"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_found_under_the_names_that_templates_ask_for(tmp_path, name):
    template = "{{ messages[0].reasoning_content }}|{{ messages[0].thinking }}"
    assert render(tmp_path, template, [{"role": "assistant", "content": "a", name: "Hm."}]).text == "Hm.|Hm."


@pytest.mark.parametrize("messages, tools", [([], None), (HI, "ls"), (HI, ["ls"])])
def test_what_transformers_refuses_is_refused(tmp_path, messages, tools):
    assert render(tmp_path, "x", messages, tools).problem.startswith("ValueError")


def test_a_long_text_of_an_exception_is_cut(tmp_path):
    problem = render(tmp_path, "{{ raise_exception('x' * 1000) }}").problem
    assert problem == f"TemplateError: {'x' * 200}…"
