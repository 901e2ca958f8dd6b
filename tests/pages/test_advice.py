"""What a report says to do first, and its findings by code."""

import re

import pytest

from chatsquash import Options, convert
from chatsquash.checks import explanations, rules
from chatsquash.pages.report import report
from tests.conftest import cases, log_line, write_log

SECRET = log_line("export DB_PASSWORD=kettle9drum", reply="Done.", session_id="secret")
REGENERATED = [
    log_line("One?", reply=reply, at=f"2026-01-13T10:00:0{at}Z", session_id="lost") for at, reply in enumerate("ab")
]


def cut(line: dict) -> dict:
    """The line with a reply that met its limit."""
    line["response"]["choices"][0]["finish_reason"] = "length"
    return line


HARMFUL = {
    "secret": [SECRET],
    "lost": [*REGENERATED, log_line("One?", {"role": "assistant", "content": "b"}, "Two?", reply="c", at="2026-01-13T10:00:05Z", session_id="lost")],
    "cut": [cut(log_line("Tides?", reply="At ni", session_id="cut"))],
    "broken": [log_line("Hi", session_id="broken"), "no JSON"],
    "naive": [log_line("Hi", at="2026-01-13T10:00:00", session_id="naive")],
    "nameless": [{key: value for key, value in log_line("Hi").items() if key != "session_id"}],
}  # fmt: skip


def page_of(tmp_path, logs: dict[str, list], **options) -> str:
    for name, lines in logs.items():
        write_log(tmp_path / f"logs/{name}.jsonl", *lines)
    convert(tmp_path / "logs", tmp_path / "out", Options(**options))
    return report(tmp_path / "out").read_text("utf-8")


def items(page: str) -> list[str]:
    """The things to do first."""
    return re.findall(r"<li[^>]*>(.*?)</li>", page.partition('<ol class="first">')[2].partition("</ol>")[0])


def codes(page: str) -> list[str]:
    """The codes of the groups of findings."""
    return re.findall(r'<details id="c-[a-z]+-([a-z-]+)" class="code', page)


def text(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


def test_the_most_harmful_findings_come_first_and_are_no_more_than_five(tmp_path):
    page = page_of(tmp_path, HARMFUL)
    first = [re.search(r"<code>([a-z-]+)</code>", item)[1] for item in items(page)]
    assert first[:4] == ["secret-found", "bad-line", "replies-lost", "reply-truncated"]
    assert len(first) == 5
    assert all(rules()[code].severity != "info" for code in first)
    assert codes(page)[:5] == first


@cases(
    "code, expected",
    ("a secret", "secret-found", "Convert with --redact secrets"),
    ("replies", "replies-lost", "1 of 8 logged replies are not in any record.Convert with --complete to keep them."),
    ("a truncated reply", "reply-truncated", "Convert with --loss weight"),
)
def test_each_says_what_remedies_it(tmp_path, code, expected):
    item = next(item for item in items(page_of(tmp_path, HARMFUL)) if f"<code>{code}</code>" in item)
    assert expected in text(item)


@cases(
    "options, expected",
    ("no flag", {}, "Convert with --loss weight"),
    ("a flag", {"loss": "weight"}, "These replies are not trained on. --drop reply-truncated also"),
    ("another flag", {"preset": "hf", "loss": "training"}, "These replies are not trained on."),
)
def test_an_option_that_is_set_is_not_advised(tmp_path, options, expected):
    page = page_of(tmp_path, {"cut": HARMFUL["cut"]}, **options)
    item = next(item for item in items(page) if "<code>reply-truncated</code>" in item)
    assert expected in text(item)
    assert ("--loss" in text(item)) is (not options)


def test_a_result_without_errors_and_warnings_has_nothing_to_do(tmp_path):
    page = page_of(tmp_path, {"a": [log_line("Hi")]})
    assert items(page) == []
    assert "Nothing needs attention" in page


def test_secrets_are_the_first_group_and_red_with_a_word_and_a_sign(tmp_path):
    page = page_of(tmp_path, HARMFUL)
    group = page.partition('id="f-rows"')[2].partition("</details>")[0]
    assert 'id="c-warning-secret-found" class="code secret"' in group
    assert "secret, warning: secret-found" in text(group)
    assert '<span class="sign" aria-hidden="true">' in group


def test_examples_are_folded_and_name_the_line_of_the_log(tmp_path):
    page = page_of(tmp_path, HARMFUL)
    assert '<details id="c-error-bad-line" class="code" data-severity="error" data-code="bad-line">' in page
    assert "logs/broken.jsonl:2" in page
    assert " open" not in "".join(re.findall(r'<details id="c-[^>]*>', page))


def test_a_hidden_secret_is_nothing_to_do(tmp_path):
    page = page_of(tmp_path, {"secret": [SECRET]}, redact="secrets")
    assert "kettle9drum" not in page
    assert "secret-found" not in codes(page)


@pytest.mark.parametrize("code", sorted(rules()))
def test_every_finding_has_a_meaning_and_a_remedy(code):
    assert explanations.meaning(code).endswith(".")
    assert explanations.remedy(code).endswith(".")
    assert explanations.remedy(code).count("`") % 2 == 0


def test_a_code_of_no_finding_has_neither():
    assert (explanations.meaning("x"), explanations.remedy("../x")) == ("", "")
