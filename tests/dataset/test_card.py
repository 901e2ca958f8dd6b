"""The card of a dataset, and what a loader reads in it."""

import hashlib
import json

from chatsquash import Options, convert
from chatsquash.core.accounting import ToolUse, TrainedReplies, Usage
from chatsquash.dataset.card import card
from chatsquash.dataset.card_facts import FAMILIES, UNKNOWN, CardFacts, Statistics, terms_of
from chatsquash.dataset.summary import ModelTotals
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
        "columns": [], "pair_columns": [], "has_types": True, "statistics": Statistics(), "counts": COUNTS,
        "anonymized": True, "flag": "none", "are_samples": False,
    }  # fmt: skip
    return CardFacts(**{**usual, **fields})


def using(*tools: ToolUse) -> Usage:
    return Usage(0, (), 0, 0, 0, tools)


def section(text: str, title: str) -> list[str]:
    return text.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0].splitlines()


def test_it_tells_what_became_of_every_session():
    assert section(card(told(options={"preset": "hf", "reasoning": "drop", "seed": 3})), "Provenance") == [
        "- source: session logs without dates",
        "- 9 sessions seen = 4 written + 1 skipped (bad-line: 1) + 2 filtered (--min-turns: 1, --drop x: 1) + 2 duplicates",
        "- cleaned: info messages: 3",
        "- anonymized: 1 e-mail address replaced by pseudonyms",
        "- preset: `hf`",
        "- other options: reasoning: `drop`, seed: `3`",
    ]


def test_it_says_where_addresses_are_as_they_were():
    assert "- not anonymized" in section(card(told(anonymized=False)), "Provenance")


def test_findings_are_listed_by_code():
    assert section(card(told()), "Findings")[2:] == ["| error | `bad-line` | 1 |", "| info | `filtered` | 2 |"]
    assert section(card(told(counts={**COUNTS, "findings": {}})), "Findings") == ["None."]


def test_names_from_logs_are_no_markup():
    statistics = Statistics()
    statistics.tools.add(using(ToolUse(EVIL, 2, 3, 4)))
    models = {EVIL: ModelTotals(records=2, length=30, replies=TrainedReplies(3, 2, 40))}
    page = card(told(statistics=statistics, models=models))
    shown = "`x'¦<script>\\n\\u202e" + "y" * 67 + "`"
    assert section(page, "Models")[2:] == [
        f"| {shown} | 2 | 3 | 40 (2 replies) | 30 | 100.0% |",
        "",
        "In total, 30 characters of assistant messages are trained on: text, reasoning and tool calls.",
        "Logged tokens include reasoning that the record may not contain.",
    ]
    assert section(page, "Model terms")[2].startswith(f"| other models | {shown} | Check the terms")
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
    assert section(page, "Record sizes")[2:6] == [
        "| assistant turns | 1 | 1 | 2 | 2 | 4 |",
        "| tool calls | 0 | 0 | 0 | 0 | 0 |",
        f"| characters | {lengths[0]} | {lengths[1]} | {lengths[2]} | {lengths[2]} | {sum(lengths)} |",
        "| tokens (as logged) | 1 | 11 | 21 | 21 | 33 |",
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
    assert section((tmp_path / "out/README.md").read_text(), "Provenance")[0] == f"- source: session logs {expected}"


def test_logs_without_counts_are_said_to_have_none(tmp_path):
    write_log(tmp_path / "logs/a.jsonl")
    convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl"))
    assert "The logs contain no token counts." in (tmp_path / "out/README.md").read_text()


@cases(
    "model, family",
    ("of a gateway", "anthropic/claude-sonnet-4.5", "Anthropic Claude"),
    ("of Bedrock", "us.anthropic.claude-opus-4-1-20250805-v1:0", "Anthropic Claude"),
    ("dated", "gpt-4.1-2025-04-14", "OpenAI"),
    ("a reasoning model", "o4-mini", "OpenAI"),
    ("open weights of a provider with a service", "openai/gpt-oss-120b", "OpenAI gpt-oss"),
    ("a fine-tuned one", "ft:gpt-4o-mini:acme::x", "OpenAI"),
    ("Gemma", "gemma-3-27b-it", "Google Gemma"),
    ("Gemini", "gemini-2.5-pro", "Google Gemini"),
    ("Llama", "meta-llama/Llama-3.3-70B-Instruct", "Meta Llama"),
    ("Mixtral", "mixtral-8x7b", "Mistral"),
    ("Qwen", "qwen3:8b", "Alibaba Qwen"),
    ("distilled from DeepSeek", "deepseek-r1-distill-llama-70b", "DeepSeek, Meta Llama"),
    ("of a server that speaks OpenAI's API", "openai/qwen2.5-72b-instruct", "Alibaba Qwen"),
    ("run by a program with the name of another", "llama-cpp/qwen3-8b", "Alibaba Qwen"),
    ("GPT, not of OpenAI's service", "gpt-j-6b", "other models"),
    ("Kimi", "moonshotai/Kimi-K2-Thinking", "Moonshot Kimi"),
    ("Grok", "grok-4", "xAI Grok"),
    ("a name that contains o1", "yolo1", "other models"),
    ("unknown", "Bielik-11B", "other models"),
)
def test_a_model_belongs_to_a_family(model, family):
    assert ", ".join(each.family for each in terms_of(model)) == family


def test_every_note_but_that_of_unknown_models_has_a_source():
    assert all(each.source.startswith("https://") and each.note.endswith(".") for each in FAMILIES)
    assert "Check the terms" in UNKNOWN.note


def test_the_default_layout_has_the_same_card(tmp_path):
    write_log(tmp_path / "logs/2026-01-13/a.jsonl", log_line("a", reply="xx"))
    convert(tmp_path / "logs", tmp_path / "out")
    page = (tmp_path / "out/README.md").read_text()
    assert "\n1 record in 1 file, each a complete conversation" in page
    assert '    path:\n    - "2026-01-13.jsonl"\n' in page
    assert section(page, "Models")[2] == "| not named in the log | 1 | 1 | not logged | 2 | 100.0% |"
    assert "## Files" not in page


def test_croissant_has_each_file_with_its_hash_and_what_the_run_knows(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", log_line("Mail ann@acme.com", reply="x"), "no JSON")
    convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl"))
    described = json.loads((tmp_path / "out/croissant.json").read_text())
    data = (tmp_path / "out/data/train-00000-of-00001.jsonl").read_bytes()
    (file,) = described["distribution"]
    assert (file["contentUrl"], file["contentSize"]) == ("data/train-00000-of-00001.jsonl", f"{len(data)} B")
    assert file["sha256"] == hashlib.sha256(data).hexdigest()
    assert described["rai:dataCollectionTimeFrame"] == ["2026-01-13", "2026-01-13"]
    assert described["rai:dataCollectionMissingData"] == "1 line could not be read."
    assert described["rai:personalSensitiveInformation"][0] == "1 e-mail address replaced by pseudonyms."
    assert "license" not in described
    outputs = json.loads((tmp_path / "out/run.json").read_text())["outputs"]
    assert "croissant.json" in {each["path"] for each in outputs}


@cases(
    "fields, missing",
    ("no day", {"at": None}, "rai:dataCollectionTimeFrame"),
    ("nothing is missing", {}, "rai:dataCollectionMissingData"),
)
def test_croissant_says_nothing_that_is_not_known(tmp_path, fields, missing):
    write_log(tmp_path / "logs/a.jsonl", log_line("Hi", reply="x", **fields))
    convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl"))
    assert missing not in json.loads((tmp_path / "out/croissant.json").read_text())
