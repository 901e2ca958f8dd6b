"""The validation of options: single values, combinations, and pairs in which one option has no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from chatsquash.checks import refuse_unknown, rules
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.errors import UsageError
from chatsquash.core.option_declarations import OptionDeclaration, refuse_unknown_choice
from chatsquash.core.options import ERRORS, Options, list_options
from chatsquash.core.text import hint, is_text
from chatsquash.redaction.pseudonyms import SHORTEST_KEY

_DIVISIBLE, _WITH_PAIRS = ("chat", "hf", "text"), ("chat", "hf")
"""Presets whose records can be divided into prompt and completion, and presets that support pairs."""
_STRICT_PRESETS = ("openai", "mistral")
"""Presets for services that reject unknown members."""


class Pair(Struct, frozen=True):
    """An option that has no effect with or without another one, as declared in ``Options``."""

    idle: str
    """The option without effect, as a field of ``Options``."""
    other: str
    """The option on which the effect depends."""
    because: Callable[[Any], bool]
    """Whether a value of the other option is the cause."""
    example: str = ""
    """A value of the other option that helps, if its absence is the cause."""
    only: str | None = None
    """The only value of the idle option that has no effect; ``None`` if no value has an effect."""

    @property
    def rest(self) -> Callable[[Options], object] | None:
        """The function that returns the part of the value that has an effect regardless, or ``None`` if no part has."""
        return _other_drop_codes if self.idle == "drop" else None

    def applies_to(self, options: Options) -> bool:
        """Return whether options contain the pair."""
        value, other = getattr(options, self.idle), getattr(options, self.other)
        if self.other == "format":  # for this rule, any option that implies a dataset folder counts
            other = options.folder
        if self.other == "loss" and options.samples != "session":  # samples also define what is trained on
            other = options.samples
        if self.idle == "anonymize_key" and options.has_key:
            return False  # placeholders are computed with the key as well
        if self.idle == "template" and (options.max_tokens is not None or options.tokenizer is not None):
            return False  # tokens are counted in the text that the template renders
        if isinstance(value, list):
            value = tuple(value)
        usual = getattr(_DEFAULTS, self.idle)
        # For an option that is not boolean, an explicit False is a request although it equals 0.
        no_effect_values = (usual,) if isinstance(usual, bool) else (usual, 0)
        is_given = value == self.only if self.only else value not in no_effect_values
        return is_given and self.because(other) and not (self.rest and self.rest(options) == value)


def _other_drop_codes(options: Options) -> tuple[str, ...]:
    """Return the codes of ``--drop`` that are reported by something other than the checks on records."""
    record_checks = {code for code, rule in rules().items() if rule.kind in _OF_CHECKS} | _CHECKED_WHILE_READ
    return tuple(code for code in options.drop if code not in record_checks)


_DEFAULTS = Options()
_OF_CHECKS = ("record", "tools", "native", "inlined")
_CHECKED_WHILE_READ = {"role-sequence", "vendor-extension"}
_EXAMPLES = (("globs", "draft*"), ("strings", "rate limit"))
"""The elements of a tuple with an example: for other options, and for options with texts."""
_ORDER = [
    "json_tool_calls",
    "unpaired",
    "subagents",
    "side",
    "restore",
    "sample_shape",
    "template",
    "too_long",
    "restored_loss",
    "loss_model",
    "loss_skip",
    "loss_skip_failed",
    "loss_skip_side",
    "loss_labels",
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
    "traces",
    "shard_size",
]
"""The order in which options without effect are reported; options that are not listed come last."""


def _pairs() -> Iterator[Pair]:
    """Yield the pairs that options declare, in the order in which they are reported."""
    order = {name: place for place, name in enumerate(_ORDER)}
    for option in sorted(list_options(), key=lambda each: order.get(each.name, len(order))):
        for need in option.needs:
            yield Pair(option.name, need.other, need.is_missing, need.example)
        for conflict in option.conflicts:
            yield Pair(option.name, conflict.other, conflict.excludes, only=conflict.only)


PAIRS = tuple(_pairs())
"""The pairs of the options of ``convert``."""


def matching_pairs(options: Options) -> Iterator[Pair]:
    """Return the pairs that options contain."""
    return (pair for pair in PAIRS if pair.applies_to(options))


def problem(pair: Pair, spelled: Callable[[str], str], missing: str, example: str, *, is_given: bool) -> str:
    """Return the error message for a pair.

    Args:
        pair: The pair.
        spelled: Returns an option as the user wrote it.
        missing: The other option, as the user must add it.
        example: The other option with a value that helps.
        is_given: Whether the other option was set, to a value that does not help.
    """
    idle = spelled(pair.idle)
    if not pair.example:
        return f"{idle} has no effect with {spelled(pair.other)}; use only one of them"
    if is_given:
        return f"{idle} has no effect with {spelled(pair.other)}; use, for example, {example}"
    return f"{idle} has no effect without {missing}; add it" + ("" if pair.example == "True" else f", as in {example}")


def refuse_wrong(options: Options) -> None:
    """Raise ``UsageError`` for the first option with an invalid value or without effect, named as in Python.

    Commands check pairs earlier, with the names of their options. Dates are checked with the logs.
    """
    refuse_invalid_values(options)
    for pair in matching_pairs(options):
        raise UsageError(_as_in_python(pair, options))


def refuse_invalid_values(options: Options) -> None:
    """Raise ``UsageError`` for invalid values and combinations, except for pairs, with names as on the command line."""
    for each in list_options(type(options)):
        value = getattr(options, each.name)
        if value is not None or each.default is not None:
            _refuse_value(each, value)
    _refuse_facts(options)
    _refuse_labels(options)
    _refuse_together(options)
    if options.samples == "tokens":
        _refuse_token_options(options)
    else:
        _refuse_limits(options)
        _refuse_samples(options)
    if options.samples == "forest":
        _refuse_forest(options)


def can_have(option: OptionDeclaration, value: Any) -> bool:
    """Return whether an option can have a value, regardless of other options."""
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
    """Reject an invalid value of an option, regardless of other options."""
    name = option.flag if option.metavar and option.choices else option.name  # click checks the others
    are_texts = isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
    if option.kind == tuple[str, ...] and not are_texts:
        if isinstance(value, str):
            message = f"expected a tuple, not a string; write {option.name}=({value!r},)"
            raise UsageError(f"{option.name}={value!r}: {message}")
        what, example = ("names", option.choices[0]) if option.choices else _EXAMPLES[option.metavar == "TEXT"]
        raise UsageError(f"{name} {value!r}: expected a tuple of {what}, such as ({example!r},)")
    if option.choices:
        refuse_unknown_choice(option, value)
    if option.kind is int:
        _refuse_number(option, value)
    if option.secret and not isinstance(value, bytes):
        raise UsageError(f"{name}: expected bytes, not {type(value).__name__}")
    if option.content and not isinstance(value, bytes):
        raise UsageError(f"{name}: expected the content of the file as bytes, not {type(value).__name__}")
    if option.secret and len(value) < SHORTEST_KEY:
        raise UsageError(f"{name}: the key has {len(value)} bytes; at least {SHORTEST_KEY} are required")


def _refuse_number(option: OptionDeclaration, value: Any) -> None:
    least = "" if option.least is None else f" of at least {option.least}"
    if not isinstance(value, int) or (option.least is not None and value < option.least):
        raise UsageError(f"{option.name} {value!r}: expected a whole number{least}")
    if option.most is not None and value > option.most:
        raise UsageError(f"{option.name} {value!r}: must be at most {option.most}, {option.why_most}")


def _refuse_facts(options: Options) -> None:
    """Reject unknown names in ``--loss-skip``."""
    if options.loss_skip is None:
        return
    if not isinstance(options.loss_skip, str):
        raise UsageError(f"loss_skip {options.loss_skip!r}: expected names, separated by commas, such as 'loop,undone'")
    for kind in options.loss_skip.split(","):
        if kind.strip() not in STEP_FACTS:
            raise UsageError(f"--loss-skip {kind.strip()!r}: unknown fact; {hint(kind.strip(), STEP_FACTS)}")


def _refuse_labels(options: Options) -> None:
    """Reject weights of ``--loss-labels`` between 0 and 1 that records cannot contain."""
    if options.loss_labels is None or options.flag != "weight":
        return
    from chatsquash.core.labels import unpack  # imported only if needed, since it is slow

    row = next((each for each in unpack(options.loss_labels).rows if 0 < (each.weight or 0) < 1), None)
    has_integers = options.preset == "text" and options.format == "parquet"
    if row and (options.preset in _STRICT_PRESETS or has_integers):
        why = (
            "the Parquet files of --preset text contain integers"
            if has_integers
            else (f"the services of --preset {options.preset} only accept 0 and 1")
        )
        raise UsageError(f"--loss-labels: row {row.number} has the weight {row.weight:g}, but {why}; round the weights")


def _refuse_together(options: Options) -> None:
    """Reject values that have the right type but cannot be used, or cannot be used together."""
    for code in options.drop:
        refuse_unknown(code, option="--drop", any_error=ERRORS)
    if "arguments-invalid" in options.drop and not options.check_arguments:
        raise UsageError("--drop arguments-invalid has no effect without --check-arguments; add it")
    if options.check_arguments:
        from chatsquash.checks import schemas  # rarely needed

        schemas.refuse_missing()
    if options.tools_file is not None or options.system_file is not None:
        from chatsquash.session.stages import supplied_definitions  # imported only if needed, since it is slow

        supplied_definitions.tables(options)
    if options.split is not None:
        from chatsquash.dataset.splits import parse  # imported only if needed, since it is slow

        parse(options.split)
    if options.trainer is not None:
        from chatsquash.dataset import trainers  # imported only if needed, since it is slow

        trainers.parse(options.trainer)
    if options.preset in _STRICT_PRESETS:
        _refuse_unknown(options)
    _refuse_duplicates(options)
    _refuse_filters(options)
    if options.replaces or options.redact is not None or options.redact_rules is not None or options.allow is not None:
        from chatsquash.redaction import requests  # imported only if needed, since it is slow

        requests.check_options(options)
    if options.unpaired_text is not None and not is_text(options.unpaired_text):
        raise UsageError(f"--unpaired-text: {options.unpaired_text!r} cannot be encoded as UTF-8; use other text")


def _refuse_filters(options: Options) -> None:
    """Reject filters that no record can pass or that cannot be parsed."""
    if options.where is not None:
        from chatsquash.dataset.where import Where  # imported only if needed, since it is slow

        Where(options.where)
    least, most = options.min_turns, options.max_turns
    if least is not None and most is not None and least > most:
        raise UsageError(f"--min-turns {least} is greater than --max-turns {most}, so no session can match")


def _refuse_forest(options: Options) -> None:
    """Reject options that forests do not support."""
    if options.trainer is not None:
        message = "trainers do not read --samples forest; use --samples reply, or flatten the output"
        raise UsageError(f"--for {options.trainer}: {message}")
    if options.media == "keep":
        raise UsageError("--media keep: --samples forest does not support images; use --samples reply")


_OF_LATER_REPLIES = ("reply", "last", "forest")
"""The values of ``--samples`` with samples of one reply that may follow several exchanges."""


def _refuse_limits(options: Options) -> None:
    """Reject limits that cannot be applied."""
    if options.max_tokens is not None and options.tokenizer is None:
        message = "add it, as in --tokenizer Qwen/Qwen3-8B, or add --template with a model that has both"
        raise UsageError(f"--max-tokens {options.max_tokens} has no effect without --tokenizer; {message}")
    begins_later = options.samples in _OF_LATER_REPLIES
    # Samples without a reply have their own message.
    if options.too_long == "cut" and options.samples != "session" and options.shape != "prompt":
        message = "a sample ends with a reply that is trained on, so nothing can be removed from its end"
        other = "front" if begins_later else "drop"
        raise UsageError(f"--too-long cut with --samples {options.samples}: {message}; use --too-long {other}")
    if options.too_long == "front" and not begins_later:
        message = "only samples of one reply can begin after their first exchange; use --samples reply or last"
        raise UsageError(f"--too-long front with --samples {options.samples}: {message}")


def _refuse_samples(options: Options) -> None:
    """Reject samples and pairs that a preset does not support."""
    if options.keep != "none" and options.preset != "hf":
        raise UsageError(f"--keep {options.keep} has no effect without --preset hf; add it")
    if options.pairs != "none":
        if options.preset not in _WITH_PAIRS:
            known = ", ".join(_WITH_PAIRS)
            message = f"--preset {options.preset} does not support pairs; choose one of {known}"
            raise UsageError(f"--pairs {options.pairs}: {message}")
        if not options.folder:
            raise UsageError(f"--pairs {options.pairs} has no effect without --format; add it, as in --format jsonl")
    if options.samples == "auto" and options.template is None:
        raise UsageError("--samples auto has no effect without --template; add it, as in --template Qwen/Qwen3-8B")
    if options.sample_columns != "messages":
        _refuse_shape(options)


_WITHOUT_COMPLETION = {
    "loss": "a prompt has no reply to train on",
    "pairs": "a prompt has no reply to compare",
    "keep": "a prompt has no reply with log probabilities",
}
"""Options that prompts make ineffective, with the reasons."""


def _refuse_shape(options: Options) -> None:
    """Reject options that contradict the division of samples into columns."""
    shape = options.shape
    flag = f"--sample-shape {shape}"
    if options.preset not in _DIVISIBLE:
        known = ", ".join(_DIVISIBLE)
        raise UsageError(f"{flag}: not supported by --preset {options.preset}; choose one of {known}")
    if shape == "prompt":
        _refuse_with_prompts(options, flag)
    if options.loss != "none":
        message = "the prompt and the completion already determine what is trained on"
        raise UsageError(f"--loss {options.loss}: {message}; remove it, or add --sample-shape messages")
    if shape in _OF_ONE_REPLY and options.samples == "auto":
        raise UsageError(f"--samples auto with {flag}: {_OF_ONE_REPLY[shape]}; use --samples reply")
    if shape == "kto" and options.pairs != "none":
        message = "rows with labels contain the replies of pairs"
        raise UsageError(f"--pairs {options.pairs} with {flag}: {message}; remove one of them")


_OF_ONE_REPLY = {"kto": "a label judges one reply", "prompt": "a prompt precedes one reply"}
"""Shapes that do not support samples of several replies, with the reasons."""


_OF_REPLIES = ("loss_labels", "loss_model", "loss_skip", "loss_skip_failed", "loss_skip_side")
"""Options that select the replies to train on."""


def _refuse_with_prompts(options: Options, flag: str) -> None:
    """Reject options that have no effect on prompts without a completion."""
    for name, why in _WITHOUT_COMPLETION.items():
        if (value := getattr(options, name)) != "none":
            raise UsageError(f"--{name} {value} with {flag}: {why}; remove one of them")
    if options.too_long != "drop":
        message = "prompts above the limit are dropped, because a shorter one is another task"
        raise UsageError(f"--too-long {options.too_long} with {flag}: {message}; remove it")
    if selection := next((name for name in _OF_REPLIES if getattr(options, name)), None):
        option = f"--{selection.replace('_', '-')}"
        raise UsageError(f"{option} with {flag}: a prompt has no reply to train on; remove one of them")
    if not options.folder:
        raise UsageError(f"{flag} has no effect without --format; add it, as in --format jsonl")


_MESSAGE_OPTIONS = (
    *("sample_shape", "loss", "restore", "keep", "pairs", "json_tool_calls", "reasoning", "system", "tools", "cleanup"),
    *("merge_consecutive", "split_parallel", "split_text_and_calls", "drop_text_beside_calls", "bridge_results"),
    *("mark_failed_results", "enums", "tool_ids", "media", "unpaired", "tools_file", "system_file", "max_chars"),
)
"""The options that change or measure messages."""


def _refuse_token_options(options: Options) -> None:
    """Reject options that cannot be applied to logged token ids."""
    if options.trainer is not None:
        raise UsageError("--for: it configures trainers for messages; remove --for or --samples tokens")
    if options.preset != "hf":
        raise UsageError(f"--samples tokens: not supported by --preset {options.preset}; choose hf")
    if options.replaces:
        raise UsageError("--samples tokens: token ids cannot be redacted; remove the options for redaction")
    declared = {each.name: each for each in list_options(type(options))}
    for name in _MESSAGE_OPTIONS:
        if getattr(options, name) != getattr(_DEFAULTS, name):
            flag = declared[name].flag
            raise UsageError(f"{flag}: --samples tokens writes token ids as logged, without changes; remove {flag}")
    if options.template is not None and options.tokenizer is None:
        raise UsageError("--template with --samples tokens has no effect without --tokenizer; add it")
    if options.max_tokens is None and options.too_long != "drop":
        return  # reported as an option without effect
    if options.too_long not in ("drop", "cut"):
        raise UsageError(f"--too-long {options.too_long}: --samples tokens supports drop and cut")


def _refuse_duplicates(options: Options) -> None:
    """Reject contradictory options for duplicates, modes that would remove most samples, and a missing package."""
    alias = {None: None, True: "exact", False: "keep"}[options.drop_duplicates]
    if alias and options.duplicates not in (None, alias):
        flag = "--drop-duplicates" if options.drop_duplicates else "--no-drop-duplicates"
        raise UsageError(f"{flag} means --duplicates {alias}; remove it or --duplicates {options.duplicates}")
    if options.samples == "tokens" and options.duplicates not in (None, "exact", "keep"):
        raise UsageError(f"--duplicates {options.duplicates}: --samples tokens supports exact and keep")
    if options.samples != "session" and options.duplicates in ("prefix", "near"):
        reason = "every sample is trained on, even if it is the beginning of another"
        raise UsageError(
            f"--duplicates {options.duplicates} with --samples {options.samples}: {reason}; use --duplicates ids"
        )
    if options.duplicate_mode == "near" or options.clusters:
        from chatsquash.records import sketch  # imported only if needed, since it is slow

        sketch.refuse_missing("--split-by cluster" if options.clusters else "--duplicates near")


def _refuse_unknown(options: Options) -> None:
    """Reject options that add fields to records that a service rejects."""
    services = f"the services of --preset {options.preset}"
    if options.metadata:
        raise UsageError(f"--metadata: {services} reject unknown members; remove the option")
    if options.loss not in ("none", "weight"):
        raise UsageError(f"--loss {options.loss}: {services} reject this member; use --loss weight")


def _as_in_python(pair: Pair, options: Options) -> str:
    """Return the error message for a pair of options that were set in Python."""

    def spelled(name: str) -> str:
        return name if isinstance(value := getattr(options, name), bytes) else f"{name}={value!r}"

    is_given = getattr(options, pair.other) != getattr(_DEFAULTS, pair.other)
    return problem(pair, spelled, pair.other, f"{pair.other}={pair.example!r}", is_given=is_given)
