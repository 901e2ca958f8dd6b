"""What each trainer reads, as docs/training.md has it: the options that ``--for`` sets, and the samples it can mask."""

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
"""What a shell, YAML or a trainer may take for more than a character of a name."""
_ALIASES = {
    "llamafactory": "llama-factory",
    "swift": "ms-swift",
    "msswift": "ms-swift",
    "nemo-automodel": "nemo",
    "azure": "openai",
}


class Trainer(NamedTuple):
    """What a trainer reads, and how it masks."""

    title: str
    presets: tuple[str, ...]
    """Those that it reads; ``--for`` sets the first."""
    formats: tuple[str, ...]
    """Those that it reads; ``--for`` sets the first."""
    settings: Mapping[str, Any] = {}
    """Other options that it needs."""
    flag: str = "none"
    """The member of ``--loss`` that it reads."""
    sample_shape: str | None = None
    """The shape in which it trains on the last reply only; ``None``: it has no such mask."""


_TEXT = ("text",)
_ROWS = ("parquet", *(each for each in get_args(Packing) if each != "parquet"))
_HOSTED = Trainer("OpenAI", ("openai",), ("jsonl",), flag="weight", sample_shape="messages")
TRAINERS = {
    "trl": Trainer("TRL", ("hf", "text"), _ROWS, sample_shape="prompt-completion"),
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
    "openai": _HOSTED,
    "together": _HOSTED._replace(title="Together"),
    "fireworks": _HOSTED._replace(title="Fireworks"),
}
"""By the names that ``--for`` takes."""


def names() -> tuple[str, ...]:
    """The names of trainers."""
    return tuple(TRAINERS)


def resolve(name: str) -> str | None:
    """The trainer that somebody means, however it is spelled; ``None`` if there is none."""
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    plain = _ALIASES.get(plain, plain)
    return plain if plain in TRAINERS else None


def refuse_as_value(option: str, value: object) -> None:
    """Raise ``UsageError`` if the value of another option is the name of a trainer."""
    if isinstance(value, str) and (name := resolve(value)):
        raise UsageError(f"{option} {escape(value)}: is a trainer; convert --for {name} writes what it reads")


def parse(text: str) -> tuple[str, str | None]:
    """The trainer and the model of ``--for``; raises ``UsageError`` for a trainer or a model that cannot be meant.

    >>> parse("trl=Qwen/Qwen3-8B")
    ('trl', 'Qwen/Qwen3-8B')
    """
    typed, divider, model = text.partition("=")
    name = resolve(typed)
    if name is None:
        raise UsageError(f"--for {escape(typed)}: not known; known are {', '.join(TRAINERS)}")
    if not divider:
        return name, None
    sign = _FORBIDDEN.search(model)
    if sign or not model.strip() or model != model.strip() or model.startswith("-") or len(model) > _LONGEST:
        why = f"has {escape(sign[0])!r}" if sign else "is not one" if model else "is missing"
        raise UsageError(f"--for {name}=MODEL: the model {why}; give a name or a folder, as in --for {name}=org/model")
    return name, model


def _with_folder(text: str) -> str:
    """``--for`` with a model that is a folder here as an absolute path, since trainers run in another folder."""
    name, model = parse(text)
    if model is None:
        return name
    folder = Path(model).expanduser()
    is_folder = folder.is_dir() or model.startswith(("./", "../", "~/"))
    return f"{name}={folder.absolute() if is_folder else model}"


def settings(text: str, values: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """The options that ``--for`` sets in addition to those that are given, of all ``values``.

    If several conversations of a session are written, a reply can be in several records. It is trained on once by the
    member that the trainer reads, or else by samples of one reply.
    """
    trainer = TRAINERS[parse(text)[0]]
    wanted = {"preset": trainer.presets[0], "format": trainer.formats[0], **trainer.settings}
    is_divided = values["conversations"] == "all"
    has_samples = values["samples"] != "session"
    if is_divided and not has_samples and trainer.flag == "none" and trainer.sample_shape and "samples" not in given:
        wanted["samples"] = "reply"
        has_samples = True
    if has_samples and trainer.sample_shape:
        wanted["sample_shape"] = trainer.sample_shape
    if trainer.flag != "none" and (is_divided or has_samples):
        wanted["loss"] = trainer.flag
    elif is_divided and not trainer.sample_shape:
        wanted["loss"] = "weight"  # which says what is trained on twice, and is reported as not read
    elif values["loss"] != "none":
        wanted["loss"] = "none"
    return {name: value for name, value in wanted.items() if name not in given}


def complete(options: Options) -> Options:
    """The options of a run with a trainer: with what it needs, as far as they are as by default, and an absolute model.

    Whoever sets them before, as the command does, has another preset than the default. Raises ``UsageError`` for a
    trainer, a model, or options that the trainer cannot read.
    """
    text = _with_folder(options.trainer or "")
    usual = Options()
    values = {each: getattr(options, each) for each in Options.__dataclass_fields__}
    given = {each for each, value in values.items() if value != getattr(usual, each)}
    if "preset" in given:
        given |= values.keys() - {"format"}
    completed = replace(options, **{**settings(text, values, given), "trainer": text})
    refuse_unreadable(completed)
    return completed


def unaware(options: Options) -> list[str]:
    """The title of the trainer, if records flag what to train on and it neither reads that nor masks by itself."""
    trainer = TRAINERS[parse(options.trainer or "")[0]]
    is_masked = options.samples != "session" or options.flag in ("none", trainer.flag)
    return [] if is_masked else [trainer.title]


def refuse_unreadable(options: Options) -> None:
    """Raise ``UsageError`` for options with which the trainer cannot read the records, or masks them wrongly."""
    name, _ = parse(options.trainer or "")
    trainer = TRAINERS[name]
    for each, known in (("preset", trainer.presets), ("format", trainer.formats)):
        value = getattr(options, each)
        if value not in known:
            raise UsageError(f"--for {name}: {trainer.title} does not read --{each} {value}; remove it{_or(known)}")
    for problem in _mask_problems(trainer, options):
        raise UsageError(f"--for {name}: {trainer.title} {problem}")


def _or(known: tuple[str, ...]) -> str:
    return f", or choose one of {', '.join(known)}" if len(known) > 1 else ""


def _mask_problems(trainer: Trainer, options: Options) -> Iterator[str]:
    """Why the trainer would train on something else than the records say."""
    if options.samples != "session":
        if trainer.sample_shape is None:
            yield f"trains on all of the assistant's turns; leave --samples {options.samples} out"
        elif options.shape != trainer.sample_shape:
            yield f"does not read --sample-shape {options.shape}; choose {trainer.sample_shape}"
        elif options.samples == "auto" and trainer.flag == "none":
            yield "trains on one reply of a sample; choose --samples reply"
    if options.flag not in ("none", trainer.flag) and trainer.flag != "none":
        yield f"does not read --loss {options.flag}; choose --loss {trainer.flag}"


def write(options: Options, files: Mapping[str, Sequence[str]], *, has_pairs: bool) -> dict[str, bytes]:
    """The configuration of the trainer, by names below the output folder, for the files of each split."""
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
    )
    return {f"{FOLDER}/{file}": text.encode() for file, text in trainer_files.WRITERS[name](training).items()}
