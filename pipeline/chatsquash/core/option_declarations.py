"""The declaration of an option: its type, default and help, and the options that it needs or conflicts with."""

from collections.abc import Callable
from dataclasses import field, fields
from functools import cache
from importlib import import_module
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from chatsquash.core.errors import UsageError
from chatsquash.core.text import hint

Decides = Literal["records", "output", "nothing"]
"""What an option decides: what becomes of a session; which sessions are taken and what is written of them; no byte."""


class Need(NamedTuple):
    """Another option, without which an option has no effect."""

    other: str
    """The other option, as a field of ``Options``."""
    is_missing: Callable[[Any], bool]
    """Whether a value of the other option leaves the option without effect."""
    example: str
    """A value of the other option with which the option has an effect."""


class Conflict(NamedTuple):
    """Another option, with which an option has no effect."""

    other: str
    """The other option, as a field of ``Options``."""
    excludes: Callable[[Any], bool]
    """Whether a value of the other option leaves the option without effect."""
    only: str | None = None
    """The value of the option that has no effect, where its other values have one."""


def one_of(*values: object) -> Callable[[Any], bool]:
    """Whether a value is one of these."""
    return lambda value: value in values


def none_of(*values: object) -> Callable[[Any], bool]:
    """Whether a value is none of these."""
    return lambda value: value not in values


class OptionDeclaration(NamedTuple):
    """What is known of an option."""

    name: str
    """The field of ``Options``."""
    kind: Any
    """Its type, without ``None``."""
    default: Any
    """``None`` for an option that may be left open; it is then no wrong value."""
    help: str
    group: str
    """Options of a group stand together in ``--help``, in the order of their fields."""
    decides: Decides
    choices_of: tuple[str, ...] = ()
    """Modules whose ``names()`` are the choices; they are imported when the choices are first asked for."""
    least: int | None = None
    most: int | None = None
    why_most: str = ""
    metavar: str | None = None
    """What ``--help`` shows for the value; the command does not look at the choices of an option that has one."""
    flag_name: str = ""
    """The option on the command line, where it is not called as the field."""
    short: str = ""
    """Its short forms."""
    usually: str = ""
    """What ``--help`` shows as default where that is no value; the command then leaves the option open."""
    content: bool = False
    """Whether its value is what a file holds, which the command is given the name of."""
    on_card: bool = True
    """Whether the dataset card names it."""
    secret: bool = False
    needs: tuple[Need, ...] = ()
    """Options without which it has no effect."""
    conflicts: tuple[Conflict, ...] = ()
    """Options with which it has no effect."""

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return self.flag_name or f"--{self.name.replace('_', '-')}"

    @property
    def has_choices(self) -> bool:
        """Whether its values are counted, for which no module is imported."""
        return bool(self.choices_of) or get_origin(self.kind) is Literal

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have; empty for one whose values are not counted."""
        if get_origin(self.kind) is Literal and not self.choices_of:
            return get_args(self.kind)
        return tuple(name for module in self.choices_of for name in import_module(module).names())

    def allows(self, value: Any) -> bool:
        """Whether a value is a choice; modules are imported only for one that type checkers do not know."""
        return value in get_args(self.kind) or value in self.choices


def refuse_unknown_choice(option: OptionDeclaration, value: Any) -> None:
    """Raise ``UsageError`` for a value, or one of several, that is not among the choices of an option."""
    name = option.flag if option.metavar else option.name  # click checks the others
    for each in value if get_origin(option.kind) is tuple else [value]:
        if not option.allows(each):
            name_text = each if isinstance(each, str) else ""
            raise UsageError(f"{name} {each!r}: not known; {hint(name_text, option.choices)}")


def refuse_unknown_choices(options: Any) -> None:
    """Raise ``UsageError`` for the first option with an unknown choice, as far as no module has to be imported."""
    for each in declarations(options.__class__):
        value = getattr(options, each.name)
        if get_origin(each.kind) is Literal and (value is not None or each.default is not None):
            refuse_unknown_choice(each, value)


def option(default: Any, text: str, *, group: str, decides: Decides = "records", **more: Any) -> Any:
    """A field with its declaration; ``more`` are other members of ``OptionDeclaration``."""
    metadata = {"help": text, "group": group, "decides": decides, **more}
    return field(default=default, repr=not {"secret", "content"} & more.keys(), metadata=metadata)


@cache
def declarations(options: Any) -> tuple[OptionDeclaration, ...]:
    """The declarations of all options of a class, in the order of its fields."""
    return tuple(
        OptionDeclaration(each.name, _kind(each.type), each.default, **each.metadata) for each in fields(options)
    )


def _kind(annotated: Any) -> Any:
    """A type without ``None``."""
    members = get_args(annotated)
    return next(each for each in members if each is not NoneType) if NoneType in members else annotated
