"""The card of a dataset, and what a loader reads in it."""

from chatsquash import Options, convert
from chatsquash.core.accounting import ToolUse, Usage
from chatsquash.dataset.card import CardFacts, Statistics, card
from tests.checks.rows import assistant, call, result, tool
from tests.conftest import cases, log_line, write_log

EVIL = "x`|<script>\n\u202e" + "y" * 100
COUNTS = {
    "sessions": {"seen": 9, "written": 4, "left_out": {"bad-line": 1}, "filtered": {"--min-turns": 1, "--drop x": 1}, "duplicates": 2},
    "cleaned": {"info_messages": 3},
    "addresses": 1,
    "findings": {"error": {"bad-line": 1}, "info": {"filtered": 2}},
}  # fmt: skip


def told(**fields) -> CardFacts:
    usual = {
        "splits": {}, "columns": [], "typed": True, "statistics": Statistics(), "counts": COUNTS, "asked": {},
        "anonymized": True, "flag": "none", "are_samples": False,
    }  # fmt: skip
    return CardFacts(**{**usual, "pairs": {}, "pair_columns": [], **fields})


def using(*tools: ToolUse) -> Usage:
    return Usage(0, (), 0, 0, 0, tools)


def section(text: str, title: str) -> list[str]:
    return text.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0].splitlines()


def test_it_tells_what_became_of_every_session():
    assert section(card(told(asked={"preset": "hf", "reasoning": "drop", "seed": 3})), "How it was made") == [
        "- source: session logs without dates",
        "- 9 sessions seen = 4 written + 1 left out (bad-line: 1) + 2 filtered (--min-turns: 1, --drop x: 1) + 2 duplicates",
        "- cleaned: info messages: 3",
        "- anonymised: 1 e-mail address replaced by pseudonyms",
        "- preset: `hf`",
        "- other options: reasoning: `drop`, seed: `3`",
    ]


def test_it_says_where_addresses_are_as_they_were():
    assert "- not anonymised" in section(card(told(anonymized=False)), "How it was made")


def test_findings_are_listed_by_code():
    assert section(card(told()), "Findings")[2:] == ["| error | `bad-line` | 1 |", "| info | `filtered` | 2 |"]
    assert section(card(told(counts={**COUNTS, "findings": {}})), "Findings") == ["None."]


def test_records_that_define_and_that_call_tools_are_counted_apart(tmp_path):
    lines = [
        log_line("Which?", assistant("", call(name="ls")), result("a"), reply="a.", session_id="1"),
        log_line("Which?", assistant("", call(name="ls")), result("a"), reply="a.", session_id="2", tools=[tool("ls")]),
        log_line("Which?", reply="None.", session_id="3"),
    ]
    write_log(tmp_path / "log.jsonl", *lines)
    convert([str(tmp_path / "log.jsonl")], tmp_path / "out", Options(preset="hf", sessions_by="id"))
    page = (tmp_path / "out" / "README.md").read_text()
    assert "\nOf 3 records, 1 define tools and 2 call them.\n" in page
    assert "\n- tool-calling\n" in page


def test_names_from_logs_are_no_markup():
    statistics = Statistics()
    statistics.models[EVIL] = 2
    statistics.tools.add(using(ToolUse(EVIL, 2, 3, 4)))
    page = card(told(statistics=statistics))
    shown = "`x'¦<script>\\n\\u202e" + "y" * 67 + "`"
    assert section(page, "Models")[2:] == [f"| {shown} | 2 |"]
    assert section(page, "Tools")[2:] == [f"| {shown} | 1 | 2 | 3 | 4 |"]


def test_only_the_most_frequent_names_are_listed():
    statistics = Statistics()
    statistics.tools.add(using(*(ToolUse(f"tool{number}", 1, 0, 0) for number in range(25))))
    rows = section(card(told(statistics=statistics)), "Tools")[2:]
    assert len(rows) == 21
    assert rows[-1] == "| and 5 more |  |  |  |  |"


def test_numbers_of_the_records_stand_in_it(tmp_path):
    for number, said in enumerate((["a"], ["a", {"role": "assistant", "content": "b"}, "c"], ["d"] * 3)):
        line = log_line(*said, reply="x" * number)
        line["response"]["usage"] = {"prompt_tokens": 10 * number, "completion_tokens": 1}
        write_log(tmp_path / f"logs/{number}.jsonl", line)
    convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl", metadata=True))
    page = (tmp_path / "out/README.md").read_text()
    convert(tmp_path / "logs", tmp_path / "bare", Options(format="jsonl"))
    lengths = sorted(len(line) for line in (tmp_path / "bare/data/train-00000-of-00001.jsonl").read_text().splitlines())
    assert section(page, "What the records are like")[2:6] == [
        "| turns of the assistant | 1 | 1 | 2 | 2 | 4 |",
        "| calls of tools | 0 | 0 | 0 | 0 | 0 |",
        f"| characters of the record | {lengths[0]} | {lengths[1]} | {lengths[2]} | {lengths[2]} | {sum(lengths)} |",
        "| tokens, as logged | 1 | 11 | 21 | 21 | 33 |",
    ]
    size = (tmp_path / "out/data/train-00000-of-00001.jsonl").stat().st_size
    assert f"  - name: train\n    num_bytes: {size}\n    num_examples: 3\n" in page
    assert "tool-calling" not in page


@cases(
    "days, expected",
    ("days", ["2026-01-14", "2026-01-12", None, "2026-01-13"], "of 2026-01-12 to 2026-01-14"),
    ("one day", ["2026-01-12", "2026-01-12"], "of 2026-01-12"),
    ("none", [None], "without dates"),
)
def test_it_says_of_which_days_the_logs_are(tmp_path, days, expected):
    for number, day in enumerate(days):
        line = log_line("a", reply=str(number))
        write_log(tmp_path / f"logs/{number}.jsonl", line | {"timestamp": f"{day}T10:00:00Z" if day else None})
    convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl"))
    assert (
        section((tmp_path / "out/README.md").read_text(), "How it was made")[0] == f"- source: session logs {expected}"
    )


def test_logs_without_counts_are_said_to_have_none(tmp_path):
    write_log(tmp_path / "logs/a.jsonl")
    convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl"))
    assert "The logs do not say how many tokens they are." in (tmp_path / "out/README.md").read_text()
