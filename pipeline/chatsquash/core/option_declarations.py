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
"""The influence of an option: on the records of a session; on which sessions and files are written; on no byte."""


class Need(NamedTuple):
    """Another option that an option needs to have an effect."""

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
    """Return a test for one of ``values``."""
    return lambda value: value in values


def none_of(*values: object) -> Callable[[Any], bool]:
    """Return a test for any value except ``values``."""
    return lambda value: value not in values


class OptionDeclaration(NamedTuple):
    """The declaration of an option."""

    name: str
    """The field of ``Options``."""
    kind: Any
    """Its type, without ``None``."""
    default: Any
    """``None`` for an option that may be unset."""
    help: str
    group: str
    """The group in ``--help``, which lists its options in the order of their fields."""
    decides: Decides
    choices_of: tuple[str, ...] = ()
    """Modules whose ``names()`` are the choices; they are imported when the choices are first needed."""
    least: int | None = None
    most: int | None = None
    why_most: str = ""
    metavar: str | None = None
    """The placeholder for the value in ``--help``; with one, the command line does not check the choices."""
    flag_name: str = ""
    """The option on the command line, if it differs from the name of the field."""
    short: str = ""
    """Its short forms."""
    usually: str = ""
    """The description of the default in ``--help`` if the option is unset by default."""
    content: bool = False
    """Whether its value is the content of a file, which the command line names."""
    on_card: bool = True
    """Whether the dataset card lists it."""
    secret: bool = False
    needs: tuple[Need, ...] = ()
    """Options that it needs to have an effect."""
    conflicts: tuple[Conflict, ...] = ()
    """Options with which it has no effect."""

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return self.flag_name or f"--{self.name.replace('_', '-')}"

    @property
    def has_choices(self) -> bool:
        """Whether it has a fixed set of values; no module is imported to determine this."""
        return bool(self.choices_of) or get_origin(self.kind) is Literal

    @property
    def choices(self) -> tuple[str, ...]:
        """Its allowed values; empty if there is no fixed set."""
        if get_origin(self.kind) is Literal and not self.choices_of:
            return get_args(self.kind)
        return tuple(name for module in self.choices_of for name in import_module(module).names())

    def allows(self, value: Any) -> bool:
        """Check whether a value is a choice; modules are only imported if the type of the option does not list it."""
        return value in get_args(self.kind) or value in self.choices


def refuse_unknown_choice(option: OptionDeclaration, value: Any) -> None:
    """Raise ``UsageError`` for a value, or one of several, that is not among the choices of an option."""
    name = option.flag if option.metavar else option.name  # click has checked all others
    for each in value if get_origin(option.kind) is tuple else [value]:
        if not option.allows(each):
            name_text = each if isinstance(each, str) else ""
            raise UsageError(f"{name} {each!r}: not known; {hint(name_text, option.choices)}")


def refuse_unknown_choices(options: Any) -> None:
    """Raise ``UsageError`` for the first option with an unknown choice, among options that need no import to check."""
    for each in declarations(options.__class__):
        value = getattr(options, each.name)
        if get_origin(each.kind) is Literal and (value is not None or each.default is not None):
            refuse_unknown_choice(each, value)


def option(default: Any, text: str, *, group: str, decides: Decides = "records", **more: Any) -> Any:
    """Return a dataclass field with a declaration; ``more`` are other members of ``OptionDeclaration``."""
    metadata = {"help": text, "group": group, "decides": decides, **more}
    return field(default=default, repr=not {"secret", "content"} & more.keys(), metadata=metadata)


@cache
def declarations(options: Any) -> tuple[OptionDeclaration, ...]:
    """Return the declarations of all options of a class, in the order of its fields."""
    return tuple(
        OptionDeclaration(each.name, _kind(each.type), each.default, **each.metadata) for each in fields(options)
    )


def _kind(annotated: Any) -> Any:
    """Return a type without ``None``."""
    members = get_args(annotated)
    return next(each for each in members if each is not NoneType) if NoneType in members else annotated
