"""``check`` and ``stats`` with templates that take too long, or too much memory."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
import tokenizers

from tests.checks.rows import assistant, call, result, user

LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
ONLY_SOME = (
    "{% if messages[0].content == 'stop' %}" + LOOPS + "{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}"
)
SLOW = "{% for a in range(50) %}{% for b in range(9999) %}{% endfor %}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}"
TOO_LONG = "the template raises OutOfTimeError: the record takes longer than 1 s (--render-time allows more): no options were tried"
GIVEN_UP = "stopped after 20 records that took over {} s each (--render-time allows more)"


@pytest.fixture
def here(here):
    Path("some.jinja").write_text(ONLY_SOME)
    Path("slow.jinja").write_text(SLOW)
    Path("loops.jinja").write_text(LOOPS)
    return here


def write(path, *said):
    Path(path).write_text("".join(json.dumps({"messages": [user(each), assistant("yes")]}) + "\n" for each in said))


def of_template(ended):
    found = [each for each in map(orjson.loads, ended.out.splitlines()) if each["code"].startswith("template")]
    return [(each["file"], each["line"], each["text"]) for each in found]


def test_a_record_that_takes_too_long_is_found_and_the_others_are_rendered(command, here):
    write("a.jsonl", "go", "stop", "go")
    ended = command("check", "a.jsonl", "--template", "some.jinja", "--render-time", "1", "--json")
    assert ended.code == 3
    assert of_template(ended) == [("a.jsonl", 2, TOO_LONG)]
    assert ended.err.splitlines() == [
        "3 records rendered with some.jinja: 2 complete",
        "needs attention: 1 error",
        "",
        "template-error  1  no options were tried",
        "errors          1  template-error",
        "notes           3  no-tools",
        "",
        "The chat template raises an exception for the record or exceeds a limit:",
        "chatsquash explain template-error",
    ]


def test_a_record_that_takes_too_much_memory_is_found(command, here):
    Path("large.jinja").write_text("{{ messages[0].content * 10000000 }}")
    write("a.jsonl", "b" * 100)
    ended = command("check", "a.jsonl", "--template", "large.jinja", "--render-memory", "100MB", "--json")
    assert ended.code == 3
    assert "more than 100,000,000 bytes of memory (--render-memory allows more)" in of_template(ended)[0][2]


def test_a_template_that_is_slow_is_given_up_and_the_rest_is_counted(command, here, monkeypatch):
    monkeypatch.setattr("chatsquash.templates.confined.RenderBounds.slow", 0.005)
    write("a.jsonl", *map(str, range(21)))
    write("b.jsonl", "one", "two")
    ended = command("check", "a.jsonl", "b.jsonl", "--template", "slow.jinja", "--render-time", "100", "--json")
    assert ended.code == 3
    given_up = GIVEN_UP.format(0.005)
    assert of_template(ended) == [("slow.jinja", None, f"rendering was {given_up}: 3 records not rendered")]
    lines = ended.err.splitlines()
    assert lines[:2] == ["20 records rendered with slow.jinja: 20 complete", "needs attention: 1 error"]
    assert lines[3].startswith("not rendered   3  rendering was stopped after ")
    assert lines[-5:-3] == ["errors         1  template-error", "notes         23  no-tools"]
    text = command("check", "a.jsonl", "--template", "slow.jinja", "--render-time", "100")
    assert (
        f"ERROR\tsession=\tinput=slow.jinja\t[template-error] rendering was {given_up}: 1 record not rendered"
        in text.out
    )


def test_20_slow_records_are_all_rendered(command, here, monkeypatch):
    monkeypatch.setattr("chatsquash.templates.confined.RenderBounds.slow", 0.005)
    write("a.jsonl", *map(str, range(20)))
    ended = command("check", "a.jsonl", "--template", "slow.jinja", "--render-time", "100")
    assert ended.code == 0
    assert ended.err.startswith("20 records rendered with slow.jinja: 20 complete\nnothing needs attention\n")


def test_a_search_for_cures_ends_in_time(command, here):
    refused = "{% for m in messages if m.tool_calls %}{% if m.tool_calls[0].function.arguments is string %}"
    Path("mends.jinja").write_text(
        refused + "{{ raise_exception('text') }}{% else %}" + LOOPS + "{% endif %}{% endfor %}"
    )
    record = {"messages": [user(), assistant("", call()), result(), assistant()], "tools": []}
    Path("a.jsonl").write_text(json.dumps(record) + "\n")
    ended = command("check", "a.jsonl", "--template", "mends.jinja", "--render-time", "1", "--json")
    assert ended.code == 3
    text = "the template raises TemplateError: text: no options that fix it were found within 1 s"
    assert of_template(ended) == [("a.jsonl", 1, text)]


def test_what_is_not_rendered_is_not_shown(command, here):
    write("a.jsonl", "go")
    ended = command("check", "a.jsonl", "--template", "loops.jinja", "--render-time", "1", "--show", "1")
    assert (ended.code, ended.out) == (2, "")
    message = (
        "a.jsonl:1: the template raises OutOfTimeError: the record takes longer than 1 s (--render-time allows more)"
    )
    assert message in ended.err


def test_stats_end_with_a_template_that_is_given_up(command, here, monkeypatch):
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"yes": 0}, "yes")).save("tokenizer.json")
    monkeypatch.setattr("chatsquash.templates.confined.RenderBounds.slow", 0.005)
    write("a.jsonl", *map(str, range(21)))
    ended = command(
        "stats", "a.jsonl", "--tokenizer", "tokenizer.json", "--template", "slow.jinja", "--render-time", "100"
    )
    assert ended.code == 2
    assert f"rendering was {GIVEN_UP.format(0.005)}" in ended.err


def test_an_interrupt_is_heard_at_once(here):
    write("a.jsonl", "go")
    given = [
        sys.executable, "-m", "chatsquash", "check", "a.jsonl", "--template", "loops.jinja", "--render-time", "1000",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = subprocess.Popen(given, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 130, said
    assert b"Traceback" not in said
