"""Values of options that cannot be meant are refused, by whatever way they come."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import pytest

import chatsquash
from chatsquash import Options, convert, convert_session
from chatsquash.api import in_python
from chatsquash.cli.click_options import from_declarations
from chatsquash.cli.main import cli
from chatsquash.conversion import engines
from chatsquash.conversion.journal import identity
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.errors import UsageError
from chatsquash.core.option_declarations import Decides, option
from chatsquash.core.options import list_options
from chatsquash.dataset.manifest import describe, non_default_options
from chatsquash.records import presets
from chatsquash.results.remedies import as_flags
from tests.conftest import cases, log_line, write_log

WRONG = [
    ({"on_invalid": "ignore"}, "on_invalid 'ignore': unknown value; expected one of skip, keep, abort"),
    ({"group_by": None}, "group_by None: unknown value; expected one of date, scenario, none"),
    ({"preset": "trl"}, "preset 'trl': unknown value; expected one of chat, hf, mistral, openai, sharegpt, text"),
    (
        {"from_format": "chat"},
        (
            "from_format 'chat': unknown value; did you mean chatgpt? Expected one of gemini, gemini_interactions, openai_responses, anthropic, bedrock, ollama, "
            "openai_chat, aider, antigravity, atif, batch, chatgpt, claude_ai, claude_code, cline, cline_sdk, clippy, codex, "
            "continue_dev, copilot_cli, crush, cursor, droid, gemini_cli, goose, hermes, inspect_ai, kimi_cli, "
            "kimi_code, mini_swe_agent, model_messages, open_webui, openai_agents, openclaw, opencode, openhands, otel, "
            "oumi, oumi_history, pi, portable, pydantic_ai, qwen_code, sts, swe_agent, vercel_ai, verifiers, vscode_chat"
        ),
    ),
    ({"system": "fold"}, "system 'fold': unknown value; expected one of keep, drop"),
    ({"tool_ids": True}, "tool_ids True: unknown value; expected one of keep, short9"),
    ({"preset": "hf", "json_tool_calls": True}, "json_tool_calls=True has no effect with preset='hf'; use only one of them"),
    ({"unpaired": "drop"}, "unpaired 'drop': unknown value; expected one of refuse, cut, close"),
    ({"cleanup": ("claude_code",)}, "cleanup 'claude_code': unknown value; did you mean claude-code? Expected one of goose, claude-code"),
    ({"cleanup": ("cline",)}, "cleanup 'cline': unknown value; expected one of goose, claude-code"),
    ({"cleanup": "goose"}, "cleanup='goose': expected a tuple, not a string; write cleanup=('goose',)"),
    ({"media": "fetch"}, "media 'fetch': unknown value; expected one of text, drop, refuse, keep"),
    ({"media": "drop"}, "media='drop' has no effect without preset; add it, as in preset='hf'"),
    ({"preset": "openai", "media": "keep"}, "media='keep' has no effect with preset='openai'; use only one of them"),
    ({"unpaired": "close"}, "unpaired='close' has no effect without preset; add it, as in preset='hf'"),
    (
        {"preset": "hf", "unpaired": "cut", "unpaired_text": "gone"},
        "unpaired_text='gone' has no effect with unpaired='cut'; use, for example, unpaired='close'",
    ),
    ({"preset": "hf", "unpaired": "close", "unpaired_text": 5}, "unpaired_text: 5 cannot be encoded as UTF-8; use other text"),
    ({"preset": "hf", "unpaired": "close", "unpaired_text": "\ud800"}, "unpaired_text: '\\ud800' cannot be encoded as UTF-8; use other text"),
    ({"workers": 0}, "workers 0: expected a whole number of at least 1"),
    ({"workers": None}, "workers None: expected a whole number of at least 1"),
    ({"workers": 1.5}, "workers 1.5: expected a whole number of at least 1"),
    ({"limit": 0}, "limit 0: expected a whole number of at least 1"),
    ({"include": "a*"}, "include='a*': expected a tuple, not a string; write include=('a*',)"),
    ({"exclude": [1]}, "exclude [1]: expected a tuple of globs, such as ('draft*',)"),
    ({"flag_phrase": "x"}, "flag_phrase='x': expected a tuple, not a string; write flag_phrase=('x',)"),
    ({"flag_phrase": (5,)}, "flag_phrase (5,): expected a tuple of strings, such as ('rate limit',)"),
    ({"anonymize_key": b""}, "anonymize_key: the key has 0 bytes; at least 16 are required"),
    ({"anonymize_key": b"k" * 15}, "anonymize_key: the key has 15 bytes; at least 16 are required"),
    ({"anonymize_key": "k" * 16}, "anonymize_key: expected bytes, not str"),
    ({"max_nesting": 801}, "max_nesting 801: must be at most 800, the limit of Python's JSON parser"),
    ({"format": "csv"}, "format 'csv': unknown value; expected one of jsonl, jsonl.gz, jsonl.zst, parquet"),
    ({"split_by": "line"}, "split_by 'line': unknown value; expected one of prompt, session, scenario, day, cluster"),
    ({"shard_size": 0, "format": "jsonl"}, "shard_size 0: expected a whole number of at least 1"),
    ({"min_turns": -1}, "min_turns -1: expected a whole number of at least 0"),
    ({"max_chars": "9"}, "max_chars '9': expected a whole number of at least 1"),
    ({"min_turns": 3, "max_turns": 2}, "min_turns=3 is greater than max_turns=2, so no session can match"),
    ({"drop": "no-tools"}, "drop='no-tools': expected a tuple, not a string; write drop=('no-tools',)"),
    ({"drop": ("no-tool",)}, "drop=('no-tool',): unknown finding code; did you mean no-tools?"),
    ({"drop": ("nothing",)}, "drop=('nothing',): unknown finding code; chatsquash explain lists all codes, errors stands for any error"),
    ({"only_model": [5]}, "only_model [5]: expected a tuple of globs, such as ('draft*',)"),
    ({"loss_model": [5]}, "loss_model [5]: expected a tuple of globs, such as ('draft*',)"),
    ({"loss_skip": 5}, "loss_skip 5: expected names, separated by commas, such as 'loop,undone'"),
    ({"loss_skip": "loop,failed-call", "loss": "weight"}, "loss_skip 'failed-call': unknown fact; did you mean failed_call? Expected one of " + ", ".join(STEP_FACTS)),
    ({"loss_skip": "", "loss": "weight"}, "loss_skip '': unknown fact; expected one of " + ", ".join(STEP_FACTS)),
    ({"seed": "x"}, "seed 'x': expected a whole number"),
    ({"seed": 1}, "seed=1 has no effect without split; add it, as in split='train=0.98,validation=0.02'"),
    ({"split": "train"}, "split='train': the share '' is not between 0 and 1; write them as train=0.98,validation=0.02"),
    ({"metadata": True, "preset": "openai"}, "metadata=True: the services of preset='openai' reject unknown members; remove the option"),
    ({"loss": "training", "preset": "openai"}, "loss='training': the services of preset='openai' reject this member; use loss='weight'"),
    ({"loss": "loss", "preset": "mistral"}, "loss='loss': the services of preset='mistral' reject this member; use loss='weight'"),
    ({"loss": "labels"}, "loss 'labels': unknown value; expected one of none, weight, training, loss, trainable"),
    ({"loss": "weight", "restored_loss": 2}, "restored_loss 2: must be at most 1, which means yes"),
]  # fmt: skip


@cases("options",
    ("the defaults", {}),
    ("every choice of one", {"on_invalid": "keep", "group_by": "none"}),
    ("the least numbers", {"workers": 1, "limit": 1}),
    ("no limit", {"limit": None}),
    ("lists of globs", {"include": ["*"], "exclude": []}),
    ("no phrases, and blank ones", {"flag_phrase": ["", " "]}),
    ("any error", {"drop": ("errors", "short-tail")}),
    ("a preset with modifiers", {"preset": "hf", "system": "drop", "tool_ids": "short9", "split_parallel": True}),
    ("a text for calls without a result", {"preset": "hf", "unpaired": "close", "unpaired_text": "-"}),
    ("the shortest key", {"anonymize_key": b"k" * 16}),
    (
        "options of a dataset, taken together",
        {
            "format": "parquet", "split": "train=1", "split_by": "day", "seed": -3, "metadata": True, "shard_size": 1,
            "min_turns": 1, "max_turns": 1,
        },
    ),
)  # fmt: skip
def test_what_can_be_meant_is_taken(options):
    assert convert_session([json.dumps(log_line("a"))], Options(**options))[0].record


@pytest.mark.parametrize("options, message", WRONG, ids=[row[1] for row in WRONG])
def test_what_cannot_be_meant_is_refused(tmp_path, options, message):
    log = write_log(tmp_path / "a.jsonl")
    for run in (
        lambda: convert(log, tmp_path / "out", Options(**options)),
        lambda: convert_session(log, Options(**options)),
    ):
        with pytest.raises(UsageError) as caught:
            run()
        assert str(caught.value) == message
    assert not (tmp_path / "out").exists()


# Declarations


@dataclass(frozen=True, slots=True)
class More(Options):
    """Options with some more, each declared and nowhere else named."""

    depth: int = option(3, "Levels of a tree.", group="bounds", least=2, most=9, why_most="no tree is deeper")
    colour: Literal["red", "blue"] | None = option(None, "What it is painted.", group="shape", usually="none")
    words: tuple[str, ...] = option((), "Words.", group="filters", decides="output", metavar="WORD", flag_name="--word")
    loud: bool = option(False, "Say more.", group="run", decides="nothing")


ADDED = {each.name: each for each in from_declarations("shape", "filters", "bounds", "run", of=More)}


def test_what_is_declared_is_an_option_of_the_command():
    shown = {name: (each.opts, each.envvar, each.help, each.metavar) for name, each in ADDED.items()}
    assert shown["depth"] == (["--depth"], "CHATSQUASH_DEPTH", "Levels of a tree.", "N")
    assert shown["colour"] == (["--colour"], "CHATSQUASH_COLOUR", "What it is painted.  [default: none]", None)
    assert shown["words"] == (["--word"], "CHATSQUASH_WORD", "Words.", "WORD")
    assert shown["loud"] == (["--loud"], "CHATSQUASH_LOUD", "Say more.", None)
    depth, colour, words = (ADDED[name] for name in ("depth", "colour", "words"))
    assert (depth.type.min, depth.type.max, depth.default) == (2, 9, 3)
    assert [*colour.type.choices] == ["red", "blue"]
    assert words.multiple
    assert ADDED["loud"].is_flag


OF_MORE = [
    ({"depth": 1}, "depth 1: expected a whole number of at least 2"),
    ({"depth": 10}, "depth 10: must be at most 9, no tree is deeper"),
    ({"colour": "green"}, "colour 'green': unknown value; expected one of red, blue"),
    ({"words": "w"}, "words='w': expected a tuple, not a string; write words=('w',)"),
]


@pytest.mark.parametrize("options, message", OF_MORE, ids=[row[1] for row in OF_MORE])
def test_what_is_declared_is_looked_at(tmp_path, options, message):
    with pytest.raises(UsageError) as caught:
        convert(write_log(tmp_path / "a.jsonl"), tmp_path / "out", More(**options))
    assert str(caught.value) == message


def test_what_is_declared_is_in_the_manifest(tmp_path):
    options = More(depth=4, words=("\udc80",), loud=True)
    convert(write_log(tmp_path / "a.jsonl"), tmp_path / "out", options)
    held = json.loads((tmp_path / "out" / "run.json").read_bytes())["options"]
    assert (held["depth"], held["colour"], held["words"]) == (4, None, ["\\udc80"])
    assert [*held][-1] == "anonymize_key_fingerprint"
    assert "loud" not in held
    assert non_default_options(describe(options), More) == {"depth": 4, "words": ["\\udc80"]}
    assert (
        as_flags(More(depth=4, colour="blue", preset="hf", loud=True)) == "--preset hf --depth 4 --colour blue --loud"
    )


def test_a_rerun_takes_nothing_over_where_an_option_of_the_records_differs():
    usual = identity(describe(Options()))
    deciding = {"records": Options(max_chars=9), "output": Options(limit=9), "nothing": Options(workers=9)}
    same = {decides: identity(describe(options)) == usual for decides, options in deciding.items()}
    assert same == {"records": False, "output": True, "nothing": True}


@pytest.mark.parametrize("option", list_options(), ids=lambda each: each.name)
def test_every_option_is_declared_with_what_is_derived_from_it(option):
    (param,) = (each for each in cli.commands["convert"].params if each.name == option.name)
    assert option.flag in param.opts
    assert option.help.endswith(".")
    assert option.help in param.help
    assert option.decides in get_args(Decides)
    assert option.group not in {each.name for each in list_options()}


@cases("option, room", ("preset", presets), ("engine", engines))
def test_the_choices_that_type_checkers_see_are_the_modules_of_the_room(option, room):
    (kind,) = (each.kind for each in (*list_options(), *list_options(engines.EngineSettings)) if each.name == option)
    assert get_args(kind) == room.names()


CHOICES = {frozenset(each.choices): each.name for each in list_options() if each.choices}
PACKAGE = Path(chatsquash.__file__).parent


def choices_named(module: Path) -> list[str]:
    """The options whose choices a module lists."""
    lists = [
        each for each in ast.walk(ast.parse(module.read_bytes())) if isinstance(each, ast.Tuple | ast.List | ast.Set)
    ]
    values = [frozenset(each.value if isinstance(each, ast.Constant) else None for each in node.elts) for node in lists]
    return [CHOICES[each] for each in values if each in CHOICES]


def test_the_choices_of_an_option_are_named_where_it_is_declared_and_nowhere_else():
    named = {str(module.relative_to(PACKAGE)): choices_named(module) for module in PACKAGE.rglob("*.py")}
    found = {module: names for module, names in named.items() if names}
    assert {*found} <= {"core/options.py", "core/record_options.py"}
    names = [name for module in found.values() for name in module]
    assert names
    assert len(set(names)) == len(names)


def test_options_are_compared_by_their_values_and_shown_without_the_key():
    given = {"preset": "hf", "drop": ("errors",), "anonymize_key": b"k" * 40}
    options = Options(**given)
    assert options == Options(**given)
    assert hash(options) == hash(Options(**given))
    assert options != Options(**{**given, "preset": "text"})
    assert options != tuple(given)
    assert "preset='hf'" in repr(options)
    assert "kkk" not in repr(options)


@cases(
    "typed, expected",
    ("--json-tool-calls: no", "json_tool_calls=True: no"),
    ("--no-anonymize is idle", "anonymize=False is idle"),
    ("--preset hf: no", "preset='hf': no"),
    ("--drop no-tools: no", "drop=('no-tools',): no"),
    ("--max-tokens 5: no", "max_tokens=5: no"),
    ("add --template MODEL", "add template"),
    ("it needs --tokenizer (a file)", "it needs tokenizer (a file)"),
    ("choose another folder with --output", "choose another folder with output"),
    ("--dry-run: no", "dry_run: no"),
)
def test_python_is_told_of_parameters_where_the_command_names_options(typed, expected):
    assert in_python(typed) == expected


def test_an_unknown_choice_is_refused_when_options_are_made():
    for name, value in (("preset", "no-such-preset"), ("samples", "replies"), ("format", "json")):
        with pytest.raises(UsageError, match=value):
            Options(**{name: value})
    assert Options(preset="hf", duplicates=None).preset == "hf"
