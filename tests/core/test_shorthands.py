"""Options that set others: what they set, what wins over them, and what the records cannot express."""

import pytest

import chatsquash
from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.core.options import SUCCESS
from chatsquash.core.record_options import Preset, RecordOptions
from chatsquash.core.shorthands import expand
from chatsquash.dataset import trainers
from tests.conftest import assistant, cases, log_line, user, write_log

ALL = {"sessions_by": "chain", "conversations": "all", "restore": "reasoning", "loss": "weight"}


def complete(given=(), **options):
    return expand(Options(**options), ["complete"], given)


def differing(options):
    usual = Options()
    return {
        name: getattr(options, name)
        for name in RecordOptions.__dataclass_fields__
        if getattr(options, name) != getattr(usual, name)
    }


def test_complete_sets_four_options_and_trains_on_no_request_of_the_client():
    assert differing(complete().options) == {**ALL, "loss_skip_side": True}
    assert complete().lines == (
        "--complete sets --sessions-by chain --conversations all --restore reasoning --loss weight --loss-skip-side",
    )


def test_an_option_that_the_user_gives_wins_and_is_named():
    expanded = complete({"conversations", "loss"}, conversations="main", loss="none")
    assert differing(expanded.options) == {"sessions_by": "chain", "conversations": "main", "restore": "reasoning"}
    assert expanded.lines[1:] == ("--complete keeps your --conversations main", "--complete keeps your --loss none")


@cases(
    "options, without",
    ({"preset": "openai"}, "--restore reasoning: --preset openai does not support reasoning"),
    ({"preset": "mistral", "samples": "reply"}, "--restore reasoning: --preset mistral does not support reasoning"),
    ({"reasoning": "drop"}, "--restore reasoning: --reasoning drop removes it"),
    ({"preset": "hf", "samples": "reply"}, "--loss weight: prompt and completion already mark what to train on"),
    ({"preset": "hf", "samples": "tokens"}, "--restore reasoning: token ids are written as logged"),
)
def test_what_records_cannot_express_is_left_out_and_named(options, without):
    assert complete(**options).lines[-1] == f"--complete does not set {without}"


@pytest.mark.parametrize("preset", Preset.__args__)
@pytest.mark.parametrize("samples", ["session", "reply"])
def test_complete_is_accepted_with_every_preset(here, preset, samples):
    titles = {"messages": [user("Write a title of at most five words for this conversation: What is it?")]}
    write_log(here / "logs/a.jsonl", log_line("What is it?"), {"request": titles})
    expanded = complete(preset=preset, samples=samples, anonymize=False)
    assert convert("logs", "out", expanded.options).written == 1
    assert expanded.options.side is (preset == "chat")


@pytest.mark.parametrize("trainer", trainers.names())
def test_complete_leaves_the_mask_to_the_trainer(here, command, trainer):
    write_log(here / "logs/a.jsonl", log_line("What is it?"))
    ended = command("convert", "logs", "--complete", "--for", trainer, "--no-anonymize")
    assert ended.code == 0
    assert "--complete sets --sessions-by chain" in ended.err
    assert "--loss" not in ended.err.partition("--complete sets")[2].partition("\n")[0]
    assert any((here / "out/trainer").iterdir())


def test_success_sets_a_condition_and_keeps_that_of_the_user():
    assert differing(expand(Options(), ["success"]).options) == {}
    assert expand(Options(), ["success"]).options.where == SUCCESS
    both = expand(Options(where="turns >= 2 OR exit = 0"), ["success"], {"where"})
    assert both.options.where == f"(turns >= 2 OR exit = 0) AND {SUCCESS}"
    assert both.lines == (f'--success sets --where "{both.options.where}"',)
    assert expand(both.options, ["success"], {"where"}).options.where == both.options.where


def test_final_answers_sets_samples_unless_the_user_does():
    expanded = expand(Options(), ["final_answers"])
    assert differing(expanded.options) == {"samples": "last"}
    assert expanded.lines == ("--final-answers sets --samples last",)
    assert expand(Options(samples="reply"), ["final_answers"], {"samples"}).options.samples == "reply"


@pytest.mark.parametrize("names", [("complete", "final_answers"), ("final_answers", "complete")])
def test_complete_goes_by_the_samples_of_the_other_shorthands(names):
    expanded = expand(Options(preset="hf"), names)
    assert (expanded.options.samples, expanded.options.loss) == ("last", "none")
    assert (
        "--complete does not set --loss weight: prompt and completion already mark what to train on" in expanded.lines
    )


@pytest.mark.parametrize("preset", Preset.__args__)
@pytest.mark.parametrize("shorthands", [["success"], ["final_answers"], ["success", "final_answers", "complete"]])
def test_shorthands_are_accepted_with_every_preset(here, preset, shorthands):
    write_log(here / "logs/a.jsonl", log_line("q", assistant("a"), user("Thanks!"), reply="b"))
    expanded = expand(Options(preset=preset, anonymize=False), shorthands)
    assert convert("logs", "out", expanded.options).written == 1


MASKS = [(name, trainer.sample_shape) for name, trainer in trainers.TRAINERS.items()]


@pytest.mark.parametrize("trainer, shape", MASKS, ids=[row[0] for row in MASKS])
def test_final_answers_are_masked_as_the_trainer_does_or_refused(here, command, trainer, shape):
    write_log(here / "logs/a.jsonl", log_line("q", assistant("a"), user("r"), reply="b"))
    ended = command("convert", "logs", "--final-answers", "--success", "--for", trainer, "--where", "turns > 0")
    if shape is None:
        assert ended.code == 2
        assert "trains on all assistant turns; remove --samples last" in ended.err
        return
    told = " ".join(ended.err.split())  # whose lines are wrapped
    assert f"--sample-shape {shape}" in told
    assert '--success sets --where "(turns > 0) AND COALESCE(' in told


def test_python_has_the_shorthands(here):
    options = chatsquash.with_shorthands(Options(preset="openai", conversations="main"), "complete", "success")
    assert (options.preset, options.conversations, options.loss, options.restore) == (
        "openai",
        "main",
        "weight",
        "none",
    )
    assert options.where == SUCCESS
    with pytest.raises(UsageError, match="did you mean final_answers"):
        chatsquash.with_shorthands(Options(), "final_answer")


def test_an_unknown_shorthand_is_refused():
    with pytest.raises(UsageError, match="did you mean complete"):
        expand(Options(), ["complet"])


def test_the_command_says_what_complete_sets(here, command):
    write_log(here / "logs/a.jsonl", log_line("What is it?"))
    ended = command("convert", "logs", "--complete", "--conversations", "main")
    told = " ".join(ended.err.split())  # whose lines are wrapped
    assert told.startswith("--complete sets --sessions-by chain --restore reasoning")
    assert " --complete keeps your --conversations main " in told
    assert command("convert", "logs", "--complete", "--quiet", "--replace").err == ""
    for flag in ("--no-side", "--no-subagents", "--loss-skip-failed", "--loss-skip-side"):
        assert command("convert", "logs", "--complete", "--quiet", "--replace", flag).code == 0
