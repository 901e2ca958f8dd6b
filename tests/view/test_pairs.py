"""Preference pairs side by side."""

import re

import pytest

from chatsquash import Options, convert
from tests.conftest import assistant, log_line, write_log
from tests.view import markup
from tests.view.conftest import Reader

EVIL = "<script>window.evil=1</script>"


@pytest.fixture(params=["jsonl", "jsonl.gz", "parquet"])
def reader(here, request):
    for number in range(2):
        prompt = f"Why {number}?"
        write_log(
            here / f"logs/{number}.jsonl",
            log_line(prompt, reply=f"rejected {number} {EVIL}", session_id=f"s{number}", at="2026-01-13T10:00:00Z"),
            log_line(prompt, reply=f"chosen {number}", session_id=f"s{number}", at="2026-01-13T10:01:00Z"),
            log_line(
                prompt, assistant(f"chosen {number}"), "Mend it.", session_id=f"s{number}", at="2026-01-13T10:02:00Z"
            ),
        )
    convert("logs", "out", Options(anonymize=False, preset="hf", pairs="logged", format=request.param))
    return Reader(here / "out")


def page(reader, number):
    answer = reader.get(f"/r/{reader.viewer.tag}/pairs/{number}")
    assert answer.status_code == 200
    markup.hold(answer.text)
    return answer.text


def test_both_replies_stand_side_by_side_with_the_prompt_and_what_tells_the_better_one(reader):
    for number in range(2):
        shown = markup.said(page(reader, number + 1))
        chosen, rejected = shown.index(f"assistant\nchosen {number}"), shown.index(f"rejected {number} {EVIL}")
        assert shown.index(f"Why {number}?") < chosen < rejected
        assert "whyregenerated" in shown
        assert f"{number + 1} of 2" in shown
        assert f"chosenlogged at {number}.jsonl:2: s{number}, with its log1assistant" in shown
        assert f"rejectedlogged at {number}.jsonl:1: s{number}, with its log1assistant" in shown


def test_a_pair_leads_to_the_session_and_to_its_log(reader):
    base = f"/r/{reader.viewer.tag}/s/{reader.at('s1')}"
    assert page(reader, 2).count(f'href="{base}"') == 2
    assert page(reader, 2).count(f'href="{base}/log"') == 2
    assert "chosen 1" in reader.get(base).text


def test_what_was_said_before_the_last_prompt_is_folded_and_messages_are_numbered_on(here):
    first = [*(each for at in range(3) for each in (f"question {at}", assistant(f"answer {at}")))]
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    first += ["last", assistant(None, tool_calls=[call]), {"role": "tool", "tool_call_id": "c", "content": "ran"}]
    tools = [
        {"type": "function", "function": {"name": "run", "description": "Runs.", "parameters": {"type": "object"}}}
    ]
    lines = [
        log_line(*first, reply=reply, session_id="s", at=f"2026-01-13T10:0{at}:00Z", tools=tools)
        for at, reply in enumerate("ab")
    ]
    lines.append(log_line(*first, assistant("b"), "on", session_id="s", at="2026-01-13T10:02:00Z", tools=tools))
    write_log(here / "logs/a.jsonl", *lines)
    convert("logs", "out", Options(anonymize=False, pairs="logged", format="jsonl"))
    shown = page(Reader(here / "out"), 1)
    folded, _, rest = shown.partition("<summary>6 messages before</summary>")[2].partition("</details>")
    assert folded.count("<article") == 6
    assert re.findall('class="number" href="#([^"]*)"', rest) == ["prompt-6", "prompt-7", "chosen-9", "rejected-9"]
    assert "Runs." in shown


def test_pairs_lead_to_each_other_and_the_menu_to_the_first(reader):
    base = f"/r/{reader.viewer.tag}/pairs"
    assert f'href="{base}/1"' in reader.get("/").text
    first, second = page(reader, 1), page(reader, 2)
    assert f'href="{base}/2" rel="next"' in first
    assert "Previous pair" not in first
    assert f'href="{base}/1" rel="prev"' in second
    assert "Next pair" not in second


@pytest.mark.parametrize("number", [0, 3, 99])
def test_what_is_no_pair_is_said(reader, number):
    assert "There is no such pair." in page(reader, number)


def test_a_result_without_pairs_has_none_in_its_menu(sample_reader):
    assert "Preference pairs" not in sample_reader.get("/").text
