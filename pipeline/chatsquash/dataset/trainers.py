"""The trainers of ``--for``, as in docs/training.md: the options that each needs, and the samples that it can mask."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options, Packing
from chatsquash.core.text import escape
from chatsquash.dataset import trainer_files
from chatsquash.dataset.trainer_files import Training

FOLDER = "trainer"
_PLACEHOLDER = "MODEL"
_LONGEST = 500
_FORBIDDEN = re.compile(r"""["'`\\$%{}<>|;&!*?#\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]""")
"""Characters with a special meaning for a shell, YAML or a trainer."""
_ALIASES = {
    "llamafactory": "llama-factory",
    "swift": "ms-swift",
    "msswift": "ms-swift",
    "nemo-automodel": "nemo",
    "azure": "openai",
}


class Trainer(NamedTuple):
    """The options that a trainer supports."""

    title: str
    presets: tuple[str, ...]
    """Supported presets; ``--for`` sets the first."""
    formats: tuple[str, ...]
    """Supported formats; ``--for`` sets the first."""
    settings: Mapping[str, Any] = {}
    """Other required options."""
    flag: str = "none"
    """The supported member of ``--loss``."""
    sample_shape: str | None = None
    """The sample shape for which it trains only on the last reply; ``None`` if it does not support this."""
    other_shapes: tuple[str, ...] = ()
    """Other supported sample shapes, for other methods than supervised fine-tuning."""
    needs_flag: bool = False
    """Whether it reads the flag in all records, not only in those that repeat replies."""


_TEXT = ("text",)
_ROWS = ("parquet", *(each for each in get_args(Packing) if each != "parquet"))
_HOSTED = Trainer("OpenAI", ("openai",), ("jsonl",), flag="weight", sample_shape="messages")
TRAINERS = {
    "trl": Trainer("TRL", ("hf", "text"), _ROWS, sample_shape="prompt-completion", other_shapes=("kto", "prompt")),
    "axolotl": Trainer("axolotl", ("hf",), ("parquet",), flag="training", sample_shape="messages"),
    "unsloth": Trainer("Unsloth", ("hf", "text"), _ROWS, sample_shape="messages"),
    "ms-swift": Trainer(
        "ms-swift",
        ("hf",),
        ("jsonl",),
        {"reasoning": "inline", "bridge_results": "join"},
        flag="loss",
        sample_shape="messages",
    ),
    "oumi": Trainer("Oumi", ("hf",), ("jsonl",), sample_shape="messages"),
    "llama-factory": Trainer(
        "LLaMA-Factory",
        ("sharegpt",),
        ("jsonl", "parquet"),
        {"bridge_results": "join"},
        sample_shape="messages",
    ),
    "torchtune": Trainer("torchtune", _TEXT, ("jsonl", "parquet"), {"merge_consecutive": True}),
    "verl": Trainer("verl", _TEXT, ("parquet",), sample_shape="prompt-completion"),
    "nemo": Trainer("NeMo Automodel", _TEXT, ("jsonl",)),
    "together": _HOSTED._replace(title="Together"),
    "fireworks": _HOSTED._replace(title="Fireworks"),
    "tinker": Trainer("Tinker", ("hf", "text"), ("jsonl",), flag="trainable", sample_shape="messages", needs_flag=True),
    "openai": _HOSTED,
}
"""The trainers, by the names for ``--for``."""
_EXCLUSIONS = ("loss_model", "loss_skip", "loss_skip_failed", "loss_skip_side", "loss_labels")
"""Options that exclude replies from training but keep them as context."""


def names() -> tuple[str, ...]:
    """Return the names of trainers."""
    return tuple(TRAINERS)


def resolve(name: str) -> str | None:
    """Return the trainer with a name in any spelling, or ``None`` if it is unknown."""
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    plain = _ALIASES.get(plain, plain)
    return plain if plain in TRAINERS else None


def refuse_as_value(option: str, value: object) -> None:
    """Raise ``UsageError`` if the value of another option is the name of a trainer."""
    if isinstance(value, str) and (name := resolve(value)):
        raise UsageError(f"{option} {escape(value)}: trainers are not supported here; use convert --for {name} instead")


def parse(text: str) -> tuple[str, str | None]:
    """Parse ``--for`` into a trainer and a model; raise ``UsageError`` if one of them is invalid.

    >>> parse("trl=Qwen/Qwen3-8B")
    ('trl', 'Qwen/Qwen3-8B')
    """
    spelling, divider, model = text.partition("=")
    name = resolve(spelling)
    if name is None:
        raise UsageError(f"--for {escape(spelling)}: unknown trainer; expected one of {', '.join(TRAINERS)}")
    if not divider:
        return name, None
    sign = _FORBIDDEN.search(model)
    if sign or not model.strip() or model != model.strip() or model.startswith("-") or len(model) > _LONGEST:
        why = f"contains {escape(sign[0])!r}" if sign else "is invalid" if model else "is missing"
        raise UsageError(f"--for {name}=MODEL: the model {why}; use a name or a folder, as in --for {name}=org/model")
    return name, model


def _with_folder(text: str) -> str:
    """Make the path of a local model in ``--for`` absolute, because trainers run in another folder."""
    name, model = parse(text)
    if model is None:
        return name
    folder = Path(model).expanduser()
    is_folder = folder.is_dir() or model.startswith(("./", "../", "~/"))
    return f"{name}={folder.absolute() if is_folder else model}"


def settings(text: str, values: Mapping[str, Any], explicit: Collection[str]) -> dict[str, Any]:
    """Return the options that ``--for`` sets in addition to explicit ones.

    If several conversations of a session are written, a reply can be in several records. To train on it only once,
    it is marked with the field that the trainer supports, or each sample trains on one reply. So are replies if other
    options exclude some of them.

    Args:
        text: The value of ``--for``.
        values: The values of all options.
        explicit: The names of the options that were set by the user.
    """
    trainer = TRAINERS[parse(text)[0]]
    result = {"preset": trainer.presets[0], "format": trainer.formats[0], **trainer.settings}
    is_divided = values["conversations"] == "all"
    needs_marks = is_divided or any(values[each] for each in _EXCLUSIONS)
    has_samples = values["samples"] != "session"
    if (
        needs_marks
        and not has_samples
        and trainer.flag == "none"
        and trainer.sample_shape
        and "samples" not in explicit
    ):
        result["samples"] = "reply"
        has_samples = True
    if has_samples and trainer.sample_shape:
        result["sample_shape"] = trainer.sample_shape
    if trainer.flag != "none" and (needs_marks or has_samples or trainer.needs_flag):
        result["loss"] = trainer.flag
    elif needs_marks and not trainer.sample_shape:
        result["loss"] = "weight"  # marks repeated replies; a warning reports that the trainer ignores it
    elif values["loss"] != "none":
        result["loss"] = "none"
    return {name: value for name, value in result.items() if name not in explicit}


def complete(options: Options) -> Options:
    """Complete the options of a run with those that its trainer needs, and make a local model absolute.

    Only options with default values are set. With a preset other than the default, only the format is set, because
    the command has already set the other options.

    Raises:
        UsageError: If the trainer or model is invalid, or the trainer does not support an option.
    """
    text = _with_folder(options.trainer or "")
    usual = Options()
    values = {each: getattr(options, each) for each in Options.__dataclass_fields__}
    explicit = {each for each, value in values.items() if value != getattr(usual, each)}
    if "preset" in explicit:
        explicit |= values.keys() - {"format"}
    completed = replace(options, **{**settings(text, values, explicit), "trainer": text})
    refuse_unreadable(completed)
    return completed


def trainers_ignoring_flags(options: Options) -> list[str]:
    """Return the title of the trainer if it would ignore the marks of messages trained on; else an empty list."""
    trainer = TRAINERS[parse(options.trainer or "")[0]]
    is_masked = options.samples != "session" or options.flag in ("none", trainer.flag)
    return [] if is_masked else [trainer.title]


def refuse_unreadable(options: Options) -> None:
    """Raise ``UsageError`` for options with which the trainer cannot read the records, or would mask them wrongly."""
    name, _ = parse(options.trainer or "")
    trainer = TRAINERS[name]
    for each, known in (("preset", trainer.presets), ("format", trainer.formats)):
        value = getattr(options, each)
        if value not in known:
            raise UsageError(f"--for {name}: {trainer.title} does not support --{each} {value}; remove it{_or(known)}")
    for problem in _mask_problems(trainer, options):
        raise UsageError(f"--for {name}: {trainer.title} {problem}")


def _or(known: tuple[str, ...]) -> str:
    return f", or choose one of {', '.join(known)}" if len(known) > 1 else ""


def _mask_problems(trainer: Trainer, options: Options) -> Iterator[str]:
    """Yield the reasons why the trainer would train on messages other than those intended."""
    if options.samples != "session":
        if trainer.sample_shape is None:
            yield f"trains on all assistant turns; remove --samples {options.samples}"
        elif options.shape not in (trainer.sample_shape, *trainer.other_shapes):
            yield f"does not read --sample-shape {options.shape}; choose {trainer.sample_shape}"
        elif options.samples == "auto" and trainer.flag == "none":
            yield "trains on only one reply per sample; choose --samples reply"
    elif trainer.flag == "none" and (exclusion := next((each for each in _EXCLUSIONS if getattr(options, each)), None)):
        advice = "add --samples reply" if trainer.sample_shape else "remove it"
        name = f"--{exclusion.replace('_', '-')}"
        yield f"trains on all assistant turns of a record, also on those that {name} excludes; {advice}"
    if options.flag not in ("none", trainer.flag) and trainer.flag != "none":
        yield f"does not read --loss {options.flag}; choose --loss {trainer.flag}"


def write(options: Options, files: Mapping[str, Sequence[str]], *, has_pairs: bool) -> dict[str, bytes]:
    """Return the configuration files of the trainer, by paths under the output folder.

    Args:
        options: The options of the run.
        files: The record files of each split.
        has_pairs: Whether the dataset has preference pairs.
    """
    if options.trainer is None or not any(files.values()):
        return {}
    name, model = parse(options.trainer)
    split = "train" if files.get("train") else next(split for split, parts in files.items() if parts)
    training = Training(
        model or _PLACEHOLDER,
        split,
        [f"../{part}" for part in files[split]],
        is_only=sum(map(bool, files.values())) == 1,
        format=options.format or "jsonl",
        flag=options.flag,
        last_only=options.samples != "session",
        has_pairs=has_pairs,
        needs_model=model is None,
        shape=options.sample_columns,
    )
    return {f"{FOLDER}/{file}": text.encode() for file, text in trainer_files.WRITERS[name](training).items()}
