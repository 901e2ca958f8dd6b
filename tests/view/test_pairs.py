"""Preference pairs side by side."""

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
        assert f"regenerated; chosen {number}.jsonl:2; rejected {number}.jsonl:1" in shown


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
