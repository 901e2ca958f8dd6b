"""Whether options say something that can be done: their values one by one, together, and pairs of which one is idle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from chatsquash.checks import refuse_unknown, rules, schemas
from chatsquash.core.errors import UsageError
from chatsquash.core.option_declarations import OptionDeclaration, refuse_unknown_choice
from chatsquash.core.options import ERRORS, Options, list_options
from chatsquash.redaction.pseudonyms import SHORTEST_KEY

_DIVIDED, _PAIRED = ("chat", "hf", "text"), ("chat", "hf")
"""The presets whose records may be divided into prompt and completion, and those that pairs are written in."""
_CLOSED = ("openai", "mistral")
"""Presets for services that refuse members which they do not know."""


class Pair(NamedTuple):
    """An option that has no effect with another, or without it, as declared."""

    idle: str
    """The option that has no effect, as a field of ``Options``."""
    other: str
    """The one with which, or without which, it has none."""
    because: Callable[[Any], bool]
    """Whether it is because of a value of the other one."""
    example: str = ""
    """A value of the other one, where it is its absence that counts."""
    only: str | None = None
    """The value of the idle one that has no effect, where others have one."""

    @property
    def rest(self) -> Callable[[Options], object] | None:
        """What of the idle one has an effect all the same."""
        return _looked_for if self.idle == "drop" else None

    def meets(self, options: Options) -> bool:
        """Whether options hold the pair."""
        value, other = getattr(options, self.idle), getattr(options, self.other)
        if self.other == "format":  # which stands for all that ask for a dataset folder
            other = options.folder
        if self.other == "loss" and options.samples != "session":  # which say what is trained on, too
            other = options.samples
        if self.idle == "anonymize_key" and options.has_key:
            return False  # placeholders are made with it, too
        if self.idle == "template" and (options.max_tokens is not None or options.tokenizer is not None):
            return False  # it says what tokens are counted of
        if isinstance(value, list):
            value = tuple(value)
        usual = getattr(_USUAL, self.idle)
        asks_nothing = (usual,) if isinstance(usual, bool) else (usual, 0)  # False may be asked for, and equals 0
        is_given = value == self.only if self.only else value not in asks_nothing
        return is_given and self.because(other) and not (self.rest and self.rest(options) == value)


def _looked_for(options: Options) -> tuple[str, ...]:
    """The findings to drop sessions for, those aside that the checks on records would find."""
    checked = {code for code, rule in rules().items() if rule.kind in _OF_CHECKS} | _CHECKED_WHILE_READ
    return tuple(code for code in options.drop if code not in checked)


_USUAL = Options()
_OF_CHECKS = ("record", "tools", "native", "inlined")
_CHECKED_WHILE_READ = {"role-sequence", "vendor-extension"}
_EXAMPLES = (("globs", "draft*"), ("texts", "rate limit"))
"""What a tuple holds, and one of it: of other options, and of those that hold texts."""
_FIRST = [
    "json_tool_calls",
    "unpaired",
    "subagents",
    "side",
    "restore",
    "sample_shape",
    "template",
    "too_long",
    "restored_loss",
    "loss_skip_failed",
    "loss_skip_side",
    "unpaired_text",
    "media",
    "flag_phrase",
    "check_arguments",
    "system_file",
    "tool_ids",
    "split_text_and_calls",
    "drop_text_beside_calls",
    "anonymize_key",
    "drop",
    "phone_region",
    "on_invalid",
    "keep_rejected",
    "seed",
    "split_by",
    "metadata",
    "shard_size",
]
"""Which idle option an error names where there are several; those that are not listed come last."""


def _pairs() -> Iterator[Pair]:
    """The pairs that options declare, in the order in which errors name them."""
    order = {name: place for place, name in enumerate(_FIRST)}
    for option in sorted(list_options(), key=lambda each: order.get(each.name, len(order))):
        for need in option.needs:
            yield Pair(option.name, need.other, need.is_missing, need.example)
        for conflict in option.conflicts:
            yield Pair(option.name, conflict.other, conflict.excludes, only=conflict.only)


PAIRS = tuple(_pairs())
"""Those of ``convert``."""


def matching_pairs(options: Options) -> Iterator[Pair]:
    """The pairs that options hold."""
    return (pair for pair in PAIRS if pair.meets(options))


def problem(pair: Pair, spelled: Callable[[str], str], missing: str, example: str, *, is_given: bool) -> str:
    """The error for a pair, whose options are ``spelled`` as the user wrote them.

    The other one is ``missing``, or ``is_given`` with a value that does not help; ``example`` is one that does.
    """
    idle = spelled(pair.idle)
    if not pair.example:
        return f"{idle} has no effect with {spelled(pair.other)}: use only one of them"
    if is_given:
        return f"{idle} has no effect with {spelled(pair.other)}: change the latter, as in {example}"
    return f"{idle} has no effect without {missing}: add it, as in {example}"


def refuse_wrong(options: Options) -> None:
    """Raise ``UsageError`` for the first option with a wrong value or without effect; days are checked with the logs.

    Pairs are named by their parameters: a command has refused or ignored them before.
    """
    refuse_typed(options)
    for pair in matching_pairs(options):
        raise UsageError(_as_in_python(pair, options))


def refuse_typed(options: Options) -> None:
    """Raise ``UsageError`` for what options say wrongly, with their names as they are typed; pairs aside."""
    for each in list_options(type(options)):
        value = getattr(options, each.name)
        if value is not None or each.default is not None:
            _refuse_value(each, value)
    _refuse_together(options)
    _refuse_samples(options)


def can_have(option: OptionDeclaration, value: Any) -> bool:
    """Whether a value is one that an option by itself may have, whoever says that it has."""
    if value is None:
        return option.default is None
    if option.kind in (bool, int, str) and type(value) is not option.kind:
        return False
    try:
        _refuse_value(option, value)
    except UsageError:
        return False
    return True


def _refuse_value(option: OptionDeclaration, value: Any) -> None:
    """Refuse what is wrong with the value of an option by itself."""
    name = option.flag if option.metavar and option.choices else option.name  # click looks at the others
    are_texts = isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
    if option.kind == tuple[str, ...] and not are_texts:
        if isinstance(value, str):
            message = f"is one text, not a tuple of several; write {option.name}=({value!r},)"
            raise UsageError(f"{option.name}={value!r}: {message}")
        what, example = ("names", option.choices[0]) if option.choices else _EXAMPLES[option.metavar == "TEXT"]
        raise UsageError(f"{name} {value!r}: not a tuple of {what}; write one as ({example!r},)")
    if option.choices:
        refuse_unknown_choice(option, value)
    if option.kind is int:
        _refuse_number(option, value)
    if option.secret and not isinstance(value, bytes):
        raise UsageError(f"{name}: is a {type(value).__name__}; a key is bytes")
    if option.content and not isinstance(value, bytes):
        raise UsageError(f"{name}: is a {type(value).__name__}; give what the file holds, as bytes")
    if option.secret and len(value) < SHORTEST_KEY:
        raise UsageError(f"{name}: has {len(value)} bytes; a key has at least {SHORTEST_KEY}")


def _refuse_number(option: OptionDeclaration, value: Any) -> None:
    least = "" if option.least is None else f" from {option.least} on"
    if not isinstance(value, int) or (option.least is not None and value < option.least):
        raise UsageError(f"{option.name} {value!r}: not a whole number{least}")
    if option.most is not None and value > option.most:
        raise UsageError(f"{option.name} {value!r}: at most {option.most}, {option.why_most}")


def _refuse_together(options: Options) -> None:
    """Refuse what a type does not tell of a value, and values that cannot be meant together."""
    for code in options.drop:
        refuse_unknown(code, option="--drop", any_error=ERRORS)
    if "arguments-invalid" in options.drop and not options.check_arguments:
        raise UsageError("--drop arguments-invalid has no effect without --check-arguments: add it")
    if options.check_arguments:
        schemas.refuse_missing()
    if options.tools_file is not None or options.system_file is not None:
        from chatsquash.session.stages import supplied_definitions  # not where none is given, which would take time

        supplied_definitions.tables(options)
    if options.split is not None:
        from chatsquash.dataset.splits import parse  # not where none is asked for, which would take time

        parse(options.split)
    if options.trainer is not None:
        from chatsquash.dataset import trainers  # not where none is named, which would take time

        trainers.parse(options.trainer)
    if options.preset in _CLOSED:
        _refuse_unknown(options)
    _refuse_duplicates(options)
    _refuse_filters(options)
    if options.replaces or options.redact is not None or options.redact_rules is not None or options.allow is not None:
        from chatsquash.redaction import requests  # not where none is given, which would take time

        requests.check_options(options)
    if options.unpaired_text is not None and not _is_text(options.unpaired_text):
        raise UsageError(f"--unpaired-text: {options.unpaired_text!r} is not a text; give one that UTF-8 can hold")


def _refuse_filters(options: Options) -> None:
    """Refuse filters that no record passes, or that cannot be read."""
    if options.where is not None:
        from chatsquash.dataset.where import Where  # not where none is given, which would take time

        Where(options.where)
    least, most = options.min_turns, options.max_turns
    if least is not None and most is not None and least > most:
        raise UsageError(f"--min-turns {least} is more than --max-turns {most}: no session has both")


def _refuse_samples(options: Options) -> None:
    """Refuse samples that cannot be told, or say twice what is trained on, and lengths that cannot be counted."""
    if options.max_tokens is not None and options.tokenizer is None:
        message = "add it, as in --tokenizer Qwen/Qwen3-8B, or --template with a model that has both"
        raise UsageError(f"--max-tokens {options.max_tokens} has no effect without --tokenizer: {message}")
    if options.keep != "none" and options.preset != "hf":
        raise UsageError(f"--keep {options.keep} has no effect without --preset hf: add it")
    if options.pairs != "none":
        if options.preset not in _PAIRED:
            known = ", ".join(_PAIRED)
            message = f"--preset {options.preset} has none; those that have are {known}"
            raise UsageError(f"--pairs {options.pairs}: {message}")
        if not options.folder:
            raise UsageError(f"--pairs {options.pairs} has no effect without --format: add it, as in --format jsonl")
    if options.samples == "auto" and options.template is None:
        raise UsageError("--samples auto has no effect without --template: add it, as in --template Qwen/Qwen3-8B")
    if options.samples == "session" or options.shape == "messages":
        return
    if options.preset not in _DIVIDED:
        known = ", ".join(_DIVIDED)
        raise UsageError(
            f"--sample-shape prompt-completion: --preset {options.preset} has none; those that have are {known}"
        )
    if options.loss != "none":
        message = "prompt and completion say what is trained on"
        raise UsageError(f"--loss {options.loss}: {message}; remove it, or add --sample-shape messages")


def _refuse_duplicates(options: Options) -> None:
    """Refuse two words on duplicates that differ, words for samples that would take most of them, and no package."""
    alias = {None: None, True: "exact", False: "keep"}[options.drop_duplicates]
    if alias and options.duplicates not in (None, alias):
        flag = "--drop-duplicates" if options.drop_duplicates else "--no-drop-duplicates"
        raise UsageError(f"{flag} means --duplicates {alias}: leave it or --duplicates {options.duplicates} out")
    if options.samples != "session" and options.duplicates in ("prefix", "near"):
        reason = "each sample is trained on for itself, also one that begins another one"
        raise UsageError(
            f"--duplicates {options.duplicates} with --samples {options.samples}: {reason}; take --duplicates ids"
        )
    if options.duplicate_mode == "near" or options.clusters:
        from chatsquash.records import sketch  # not where nothing is compared, which would take time

        sketch.refuse_missing("--split-by cluster" if options.clusters else "--duplicates near")


def _refuse_unknown(options: Options) -> None:
    """Refuse what gives records members that a service does not know."""
    services = f"the services of --preset {options.preset}"
    if options.metadata:
        raise UsageError(f"--metadata: {services} refuse members that they do not know")
    if options.loss not in ("none", "weight"):
        raise UsageError(f"--loss {options.loss}: {services} refuse this member; --loss weight gives the one they know")


def _is_text(value: object) -> bool:
    """Whether a value can be written as text."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


def _as_in_python(pair: Pair, options: Options) -> str:
    """The error for a pair of options that were written in Python."""

    def spelled(name: str) -> str:
        return name if isinstance(value := getattr(options, name), bytes) else f"{name}={value!r}"

    is_given = getattr(options, pair.other) != getattr(_USUAL, pair.other)
    return problem(pair, spelled, pair.other, f"{pair.other}={pair.example!r}", is_given=is_given)
