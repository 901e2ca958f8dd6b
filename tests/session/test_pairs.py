"""Pairs of options of which one has no effect are errors that name both."""

import json
import shlex
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.core.options import list_options
from chatsquash.dataset.option_rules import PAIRS
from tests.conftest import cases, log_line, write_log

SHARES = "train=0.98,validation=0.02"
KEY = b"k" * 16
CASES = [
    ({"json_tool_calls": True, "preset": "hf"}, "json_tool_calls=True has no effect with preset='hf'", "-j --preset hf", "--json-tool-calls has no effect with --preset hf"),
    ({"unpaired": "cut"}, "unpaired='cut' has no effect without preset", "--unpaired cut", "--unpaired cut has no effect without --preset"),
    ({"subagents": False}, "subagents=False has no effect without conversations", "--no-subagents", "--no-subagents has no effect without --conversations"),
    ({"subagents": False, "conversations": "main"}, "subagents=False has no effect with conversations='main'", "--no-subagents --conversations main", "--no-subagents has no effect with --conversations main"),
    ({"side": False}, "side=False has no effect without conversations", "--no-side", "--no-side has no effect without --conversations"),
    ({"side": False, "conversations": "main"}, "side=False has no effect with conversations='main'", "--no-side --conversations main", "--no-side has no effect with --conversations main"),
    ({"restore": "all", "reasoning": "drop"}, "restore='all' has no effect with reasoning='drop'", "--restore all --reasoning drop", "--restore all has no effect with --reasoning drop"),
    ({"restore": "reasoning", "reasoning": "drop"}, "restore='reasoning' has no effect with reasoning='drop'", "--restore reasoning --reasoning drop", "--restore reasoning has no effect with --reasoning drop"),
    ({"restore": "all", "preset": "openai"}, "restore='all' has no effect with preset='openai'", "--restore all --preset openai", "--restore all has no effect with --preset openai"),
    ({"restore": "reasoning", "preset": "mistral"}, "restore='reasoning' has no effect with preset='mistral'", "--restore reasoning --preset mistral", "--restore reasoning has no effect with --preset mistral"),
    ({"sample_shape": "messages"}, "sample_shape='messages' has no effect without samples", "--sample-shape messages", "--sample-shape messages has no effect without --samples"),
    ({"template": b"[{}, {}]"}, "template has no effect without samples", "--template p", "--template p has no effect without --samples"),
    ({"too_long": "cut"}, "too_long='cut' has no effect without max_tokens", "--too-long cut", "--too-long cut has no effect without --max-tokens"),
    ({"restored_loss": 1}, "restored_loss=1 has no effect without loss", "--restored-loss 1", "--restored-loss has no effect without --loss"),
    ({"restored_loss": 1, "samples": "reply"}, "restored_loss=1 has no effect with samples='reply'", "--restored-loss 1 --samples reply", "--restored-loss has no effect with --samples reply"),
    ({"loss_model": ("m*",)}, "loss_model=('m*',) has no effect without loss", "--loss-model m*", "--loss-model m* has no effect without --loss"),
    ({"loss_skip": "loop"}, "loss_skip='loop' has no effect without loss", "--loss-skip loop", "--loss-skip loop has no effect without --loss"),
    ({"loss_skip_failed": True}, "loss_skip_failed=True has no effect without loss", "--loss-skip-failed", "--loss-skip-failed has no effect without --loss"),
    ({"loss_skip_side": True}, "loss_skip_side=True has no effect without loss", "--loss-skip-side", "--loss-skip-side has no effect without --loss"),
    ({"loss_labels": b'{"id": "a", "label": 1}'}, "loss_labels has no effect without loss", "--loss-labels p", "--loss-labels p has no effect without --loss"),
    ({"unpaired_text": "-", "preset": "hf"}, "unpaired_text='-' has no effect without unpaired", "--unpaired-text - --preset hf", "--unpaired-text - has no effect without --unpaired"),
    ({"media": "drop"}, "media='drop' has no effect without preset", "--media drop", "--media drop has no effect without --preset"),
    ({"media": "keep", "preset": "text"}, "media='keep' has no effect with preset='text'", "--media keep --preset text", "--media keep has no effect with --preset text"),
    ({"flag_phrase": ("x",), "integrity_analysis": False}, "flag_phrase=('x',) has no effect with integrity_analysis=False", "--flag-phrase x --no-integrity-analysis", "--flag-phrase x has no effect with --no-integrity-analysis"),
    ({"check_arguments": True, "integrity_analysis": False}, "check_arguments=True has no effect with integrity_analysis=False", "--check-arguments --no-integrity-analysis", "--check-arguments has no effect with --no-integrity-analysis"),
    ({"system_file": b"Be brief.", "system": "drop"}, "system_file has no effect with system='drop'", "--system-file p --system drop", "--system-file p has no effect with --system drop"),
    ({"tool_ids": "short9", "preset": "mistral"}, "tool_ids='short9' has no effect with preset='mistral'", "--tool-ids short9 --preset mistral", "--tool-ids short9 has no effect with --preset mistral"),
    ({"tool_ids": "short9", "preset": "sharegpt"}, "tool_ids='short9' has no effect with preset='sharegpt'", "--tool-ids short9 --preset sharegpt", "--tool-ids short9 has no effect with --preset sharegpt"),
    ({"tool_ids": "short9", "preset": "text"}, "tool_ids='short9' has no effect with preset='text'", "--tool-ids short9 --preset text", "--tool-ids short9 has no effect with --preset text"),
    ({"split_text_and_calls": True, "preset": "sharegpt"}, "split_text_and_calls=True has no effect with preset='sharegpt'", "--split-text-and-calls --preset sharegpt", "--split-text-and-calls has no effect with --preset sharegpt"),
    ({"split_text_and_calls": True, "preset": "mistral"}, "split_text_and_calls=True has no effect with preset='mistral'", "--split-text-and-calls --preset mistral", "--split-text-and-calls has no effect with --preset mistral"),
    ({"split_text_and_calls": True, "drop_text_beside_calls": True}, "split_text_and_calls=True has no effect with drop_text_beside_calls=True", "--split-text-and-calls --drop-text-beside-calls", "--split-text-and-calls has no effect with --drop-text-beside-calls"),
    ({"drop_text_beside_calls": True, "preset": "mistral"}, "drop_text_beside_calls=True has no effect with preset='mistral'", "--drop-text-beside-calls --preset mistral", "--drop-text-beside-calls has no effect with --preset mistral"),
    ({"anonymize_key": KEY, "anonymize": False}, "anonymize_key has no effect with anonymize=False", "--anonymize-key-file k --no-anonymize", "--anonymize-key-file k has no effect with --no-anonymize"),
    ({"drop": ("bad-line", "no-messages"), "integrity_analysis": False}, "drop=('bad-line', 'no-messages') has no effect with integrity_analysis=False", "--drop no-messages --no-integrity-analysis", "--drop no-messages has no effect with --no-integrity-analysis"),
    ({"phone_region": "DE"}, "phone_region='DE' has no effect without redact", "--phone-region DE", "--phone-region DE has no effect without --redact"),
    ({"on_invalid": "abort", "strict": True}, "on_invalid='abort' has no effect with strict=True", "--on-invalid abort --strict", "--on-invalid abort has no effect with --strict"),
    ({"keep_rejected": True, "strict": True}, "keep_rejected=True has no effect with strict=True", "--keep-rejected --strict", "--keep-rejected has no effect with --strict"),
    ({"seed": 1}, "seed=1 has no effect without split", "--seed 1", "--seed has no effect without --split"),
    ({"split_by": "day"}, "split_by='day' has no effect without split", "--split-by day", "--split-by day has no effect without --split"),
    ({"metadata": True}, "metadata=True has no effect without format", "--metadata", "--metadata has no effect without --format"),
    ({"traces": True}, "traces=True has no effect without format", "--traces", "--traces has no effect without --format"),
    ({"shard_size": 9}, "shard_size=9 has no effect without format", "--shard-size 9", "--shard-size has no effect without --format"),
    ({"tool_report": False, "tool_report_path": "u.csv"}, "tool_report_path='u.csv' has no effect with tool_report=False", "--tool-report-path u.csv --no-tool-report", "--tool-report-path u.csv has no effect with --no-tool-report"),
    ({"provenance": True, "samples": "forest"}, "provenance=True has no effect with samples='forest'", "--provenance --samples forest", "--provenance has no effect with --samples forest"),
    ({"provenance_key": KEY}, "provenance_key has no effect without provenance", "--provenance-key k", "--provenance-key k has no effect without --provenance"),
    ({"full": True, "resume": True}, "full=True has no effect with resume=True", "--full --resume", "--full has no effect with --resume"),
]  # fmt: skip
NEEDY = {pair.idle for pair in PAIRS if pair.example}
"""Options that have no effect without another."""
IDS = [row[2] for row in CASES]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs" / "a.jsonl")
    (tmp_path / "k").write_bytes(KEY)
    (tmp_path / "p").write_text("Be brief.")


def pair_of(options: dict) -> tuple[str, str]:
    """The pair that options hold."""
    ((idle, other),) = [(pair.idle, pair.other) for pair in PAIRS if pair.applies_to(Options(**options))]
    return idle, other


def test_every_pair_is_tried():
    pairs = [(pair.idle, pair.other) for pair in PAIRS]
    assert [*dict.fromkeys(pair_of(options) for options, *_ in CASES)] == [*dict.fromkeys(pairs)]
    assert all(any(pair.applies_to(Options(**options)) for options, *_ in CASES) for pair in PAIRS)


@pytest.mark.parametrize("options, told, arguments, typed", CASES, ids=IDS)
def test_a_pair_is_an_error_in_python(options, told, arguments, typed):
    with pytest.raises(UsageError) as caught:
        convert("logs", "out", Options(**options))
    assert str(caught.value).startswith(f"{told}; ")
    assert KEY.decode() not in str(caught.value)
    assert not Path("out").exists()


@pytest.mark.parametrize("options, told, arguments, typed", CASES, ids=IDS)
def test_a_pair_is_an_error_on_the_command_line(command, options, told, arguments, typed):
    ended = command("convert", "logs", *shlex.split(arguments))
    assert (ended.code, ended.out) == (2, "")
    assert f"error: {typed}; " in ended.err
    assert not Path("out").exists()


@pytest.mark.parametrize("options, told, arguments, typed", CASES, ids=IDS)
def test_one_alone_is_none(command, options, told, arguments, typed):
    idle, _ = pair_of(options)
    without = {name: value for name, value in options.items() if name != idle}
    assert not [pair for pair in PAIRS if pair.applies_to(Options(**without))]
    words = shlex.split(arguments)
    if idle not in NEEDY:
        assert not [pair for pair in PAIRS if pair.applies_to(Options(**{idle: options[idle]}))]
        first = words[: len(words) - len(shlex.split(typed.partition(" with ")[2]))]
        assert command("convert", "logs", *first, "-q").code == 0


@cases("arguments, variables, told",
    ("--unpaired cut --preset chat", {}, "--unpaired cut has no effect with --preset chat; use, for example, --preset hf."),
    ("--unpaired cut --unpaired-text - --preset hf", {}, "--unpaired-text - has no effect with --unpaired cut; use, for example, --unpaired close."),
    ("--unpaired cut", {"CHATSQUASH_PRESET": "chat"}, "--unpaired cut has no effect with CHATSQUASH_PRESET=chat; use, for example, --preset hf."),
    ("--seed 1", {}, f"--seed has no effect without --split; add it, as in --split {SHARES}."),
)  # fmt: skip
def test_what_is_missing_is_named_unless_it_was_given_with_another_value(
    command, monkeypatch, arguments, variables, told
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert f"error: {told}\n".replace(".\n", "\n") in command("convert", "logs", *shlex.split(arguments)).err


@cases("arguments, told",
        ("--drop no-tool", "--drop no-tool: unknown finding code"),
        ("--min-turns 3 --max-turns 2", "--min-turns 3 is greater than --max-turns 2"),
        ("--from chat", "--from 'chat': unknown value; did you mean chatgpt? Expected one of gemini, "),
        ("--samples auto", "--samples auto has no effect without --template; add it, as in"),
        ("--samples reply --preset hf --loss training", "--loss training: the prompt and the completion already determine what is trained on"),
        ("--samples reply --preset openai --sample-shape prompt-completion", "--sample-shape prompt-completion: not supported by --preset openai"),
        ("--max-tokens 9", "--max-tokens 9 has no effect without --tokenizer; add it, as in"),
        ("--metadata --preset openai", "--metadata: the services of --preset openai"),
)  # fmt: skip
def test_options_that_cannot_be_meant_are_named_as_they_are_typed(command, arguments, told):
    assert command("convert", "logs", *shlex.split(arguments)).err.startswith(f"error: {told}")


@pytest.mark.parametrize("code", ["role-sequence", "vendor-extension", "undeclared-tool", "tool-call-tags"])
def test_findings_that_are_checked_for_are_not_there_without_checks(code):
    assert [pair.idle for pair in PAIRS if pair.applies_to(Options(drop=(code,), integrity_analysis=False))] == ["drop"]


@pytest.mark.parametrize("options, told, arguments, typed", CASES, ids=IDS)
def test_a_variable_that_has_no_effect_is_passed_over(command, monkeypatch, options, told, arguments, typed):
    words = shlex.split(arguments)
    others = shlex.split(typed.partition(" with ")[2])
    own = words[: len(words) - len(others)]
    own = ["--json-tool-calls"] if own == ["-j"] else own
    name = own[0].removeprefix("--").replace("-", "_").upper()
    monkeypatch.setenv(f"CHATSQUASH_{name}", own[1] if len(own) > 1 else "1")
    assert command("convert", "logs", *others, "-q").code in (0, 3)


def test_both_may_be_variables(command, monkeypatch):
    monkeypatch.setenv("CHATSQUASH_JSON_TOOL_CALLS", "1")
    monkeypatch.setenv("CHATSQUASH_PRESET", "hf")
    assert command("convert", "logs", "-q").code == 0
    run = json.loads(Path("out/run.json").read_bytes())
    assert (run["options"]["preset"], run["options"]["json_tool_calls"]) == ("hf", False)


def test_what_is_typed_is_not_passed_over_for_a_variable(command, monkeypatch):
    monkeypatch.setenv("CHATSQUASH_PRESET", "mistral")
    ended = command("convert", "logs", "--tool-ids", "short9")
    assert ended.code == 2
    assert "--tool-ids short9 has no effect with CHATSQUASH_PRESET=mistral; " in ended.err


def test_of_the_codes_of_a_variable_those_that_are_looked_for_count(command, monkeypatch):
    write_log(Path("logs/b.jsonl"), log_line("x"), "broken")
    monkeypatch.setenv("CHATSQUASH_DROP", "bad-line no-messages")
    assert command("convert", "logs", "--no-integrity-analysis", "-q").code == 3
    run = json.loads(Path("out/run.json").read_bytes())
    assert run["options"]["drop"] == ["bad-line"]
    assert run["counts"]["sessions"]["filtered"] == {"--drop bad-line": 1}


BESIDE = [
    (["check", "d.jsonl", "--show", "1", "--json", "--template", "t"], "--json has no effect with --show"),
    (["check", "d.jsonl", "--show", "1"], "--show has no effect without --template; add it"),
    (["stats", "d.jsonl", "--template", "t"], "--template has no effect without --tokenizer; add it because the model has no tokenizer.json"),
    (["check", "d.jsonl", "--render-time", "5"], "--render-time has no effect without --template; add it"),
    (["stats", "d.jsonl", "--render-memory", "5MB"], "--render-memory has no effect without --template; add it"),
    (["translate", "d.jsonl", "--to", "portable", "-o", "-", "--force"], "--force has no effect with --output -"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, told", BESIDE, ids=[" ".join(row[0]) for row in BESIDE])
def test_so_it_is_of_other_commands(command, arguments, told):
    write_log(Path("d.jsonl"), {"messages": [{"role": "user", "content": "x"}]})
    ended = command(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


SURPRISING = [
    ("json_tool_calls", "preset"), ("unpaired", "preset"), ("media", "preset"), ("restore", "reasoning"),
    ("restore", "preset"), ("restored_loss", "samples"), ("drop", "integrity_analysis"),
]  # fmt: skip
"""The pairs that the page names; errors explain the others."""


@pytest.mark.parametrize("idle, other", SURPRISING)
def test_the_page_names_surprising_pairs(idle, other):
    assert (idle, other) in {(pair.idle, pair.other) for pair in PAIRS}
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    section = page.partition("## Options without effect\n")[2].partition("\n## ")[0]
    flags = {each.name: each.flag.removeprefix("--") for each in list_options()}
    assert any(f"`--{flags[idle]}" in line and flags[other] in line for line in section.split("\n- "))
