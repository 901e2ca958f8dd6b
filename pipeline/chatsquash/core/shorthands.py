"""Expand shorthands: options that set several others, such as ``--complete``.

Options given on the command line take precedence over shorthands, and shorthands over variables and settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.core.options import SHORTHANDS, Options, list_options
from chatsquash.core.text import hint


class ExpandedOptions(Struct, frozen=True):
    """Options after shorthands were applied."""

    options: Options
    lines: tuple[str, ...]
    """Messages for the user: the options that each shorthand set or left unchanged."""


def expand(options: Options, names: Iterable[str], explicit: Collection[str] = ()) -> ExpandedOptions:
    """Set the options of shorthands.

    Args:
        options: The other options.
        names: The shorthands, as in ``("complete",)``.
        explicit: The fields that the user set, which are not changed.

    Raises:
        UsageError: A shorthand is unknown.
    """
    selected, lines = set(names), list[str]()
    for name in sorted(selected - SHORTHANDS.keys()):
        raise UsageError(f"{name!r}: unknown shorthand; {hint(name, SHORTHANDS)}")
    # "complete" is last because it depends on the others.
    for name in sorted(selected, key=lambda each: (each == "complete", each)):
        settings = dict(SHORTHANDS[name].options)
        if options.trainer:  # --for already determines how messages to train on are marked
            settings.pop("loss", None)
        if options.where and "where" in settings:
            settings["where"] = _both(options.where, settings["where"])
            explicit = {*explicit} - {"where"}
        overridden = [each for each in settings if each in explicit and getattr(options, each) != settings[each]]
        values = {each: value for each, value in settings.items() if each not in explicit}
        without = {each: why for each, why in _unsupported(replace(options, **values)) if each in values}
        values = {each: value for each, value in values.items() if each not in without}
        if name == "complete":
            values |= _side_requests(replace(options, **values), explicit)
        options = replace(options, **values)
        lines += _lines(name, values, overridden, without, options)
    return ExpandedOptions(options, tuple(lines))


def _both(condition: str, other: str) -> str:
    """Combine two conditions with AND, unless the first one already ends with the other."""
    return condition if condition.endswith(other) else f"({condition}) AND {other}"


def _unsupported(options: Options) -> Iterator[tuple[str, str]]:
    """Yield the options that the records cannot express, each with the reason."""
    if options.preset in ("openai", "mistral"):
        yield "restore", f"--preset {options.preset} does not support reasoning"
    elif options.reasoning == "drop":
        yield "restore", "--reasoning drop removes it"
    if options.samples == "tokens":
        yield "loss", "labels already mark what to train on"
        yield "restore", "token ids are written as logged"
    elif options.samples != "session" and options.shape == "prompt-completion":
        yield "loss", "prompt and completion already mark what to train on"


def _side_requests(options: Options, explicit: Collection[str]) -> dict[str, Any]:
    """Return options that exclude the client's own requests from records for trainers, or from training."""
    if options.preset != "chat":
        return {} if "side" in explicit else {"side": False}
    return {"loss_skip_side": True} if options.loss != "none" and "loss_skip_side" not in explicit else {}


def _lines(
    name: str, values: Mapping[str, Any], overridden: list[str], without: Mapping[str, str], options: Options
) -> Iterator[str]:
    flag = f"--{name.replace('_', '-')}"
    if values:
        yield f"{flag} sets {' '.join(_spelled(each, value) for each, value in values.items())}"
    for each in overridden:
        yield f"{flag} keeps your {_spelled(each, getattr(options, each))}"
    for each, why in without.items():
        yield f"{flag} does not set {_spelled(each, SHORTHANDS[name].options[each])}: {why}"


def _spelled(name: str, value: object) -> str:
    """Return an option as the user types it."""
    flag = next(each.flag for each in list_options() if each.name == name)
    if isinstance(value, bool):
        return flag if value else f"--no-{flag[2:]}"
    return f"{flag} {value}" if str(value).isalnum() else f'{flag} "{value}"'
