"""Options that set others: what they set, what wins over them, and what the records cannot express."""

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.core.record_options import RecordOptions
from chatsquash.core.shape_options import Preset
from chatsquash.core.shorthands import expand
from chatsquash.dataset import trainers
from tests.conftest import cases, log_line, user, write_log

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
    ({"preset": "openai"}, "--restore reasoning: --preset openai has no place for reasoning"),
    ({"preset": "mistral", "samples": "reply"}, "--restore reasoning: --preset mistral has no place for reasoning"),
    ({"reasoning": "drop"}, "--restore reasoning: --reasoning drop removes it"),
    ({"preset": "hf", "samples": "reply"}, "--loss weight: prompt and completion already mark what to train on"),
)
def test_what_records_cannot_express_is_left_out_and_named(options, without):
    assert complete(**options).lines[-1] == f"--complete goes without {without}"


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


def test_an_unknown_shorthand_is_refused():
    with pytest.raises(UsageError, match="did you mean complete"):
        expand(Options(), ["complet"])


def test_the_command_says_what_complete_sets(here, command):
    write_log(here / "logs/a.jsonl", log_line("What is it?"))
    ended = command("convert", "logs", "--complete", "--conversations", "main")
    assert ended.err.splitlines()[0].startswith("--complete sets --sessions-by chain --restore reasoning")
    assert ended.err.splitlines()[1] == "--complete keeps your --conversations main"
    assert command("convert", "logs", "--complete", "--quiet", "--replace").err == ""
    for flag in ("--no-side", "--no-subagents", "--loss-skip-failed", "--loss-skip-side"):
        assert command("convert", "logs", "--complete", "--quiet", "--replace", flag).code == 0
