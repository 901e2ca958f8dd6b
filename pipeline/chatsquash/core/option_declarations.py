"""The declaration of an option: its type, default and help, and the options that it requires or conflicts with."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache, partial
from importlib import import_module
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.core.text import hint

Decides = Literal["records", "output", "nothing"]
"""What an option affects: the records of a session, the selection of sessions and files, or no output."""


class Need(Struct, frozen=True):
    """Another option that an option requires to have an effect."""

    other: str
    """The other option, as a field of ``Options``."""
    is_missing: Callable[[Any], bool]
    """Whether a value of the other option makes the option ineffective."""
    example: str
    """A value of the other option that makes the option effective; ``True`` for a flag."""


class Conflict(Struct, frozen=True):
    """Another option that makes an option ineffective."""

    other: str
    """The other option, as a field of ``Options``."""
    excludes: Callable[[Any], bool]
    """Whether a value of the other option makes the option ineffective."""
    only: str | None = None
    """The only value of the option that becomes ineffective; ``None`` for all values."""


def one_of(*values: object) -> Callable[[Any], bool]:
    """Return a predicate for the given ``values``."""
    return lambda value: value in values


def none_of(*values: object) -> Callable[[Any], bool]:
    """Return a predicate for any value except ``values``."""
    return lambda value: value not in values


class OptionDeclaration(Struct, frozen=True):
    """The declaration of an option."""

    name: str
    """The field of ``Options``."""
    kind: Any
    """The type of the option, without ``None``."""
    default: Any
    """The default; ``None`` for an option that may be unset."""
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
    """The placeholder for the value in ``--help``; if set, the command line does not check the choices."""
    flag_name: str = ""
    """The option on the command line, if it differs from the field name."""
    short: str = ""
    """The short forms of the option."""
    usually: str = ""
    """The description of the default in ``--help`` if the option is unset by default."""
    content: bool = False
    """Whether the value is the content of a file, whose name is given on the command line."""
    on_card: bool = True
    """Whether the dataset card lists it."""
    secret: bool = False
    needs: tuple[Need, ...] = ()
    """Options that it requires to have an effect."""
    conflicts: tuple[Conflict, ...] = ()
    """Options that make it ineffective."""

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return self.flag_name or f"--{self.name.replace('_', '-')}"

    @property
    def has_choices(self) -> bool:
        """Whether it has a fixed set of values; determined without importing a module."""
        return bool(self.choices_of) or get_origin(self.kind) is Literal

    @property
    def choices(self) -> tuple[str, ...]:
        """Its allowed values, or an empty tuple if there is no fixed set."""
        if get_origin(self.kind) is Literal and not self.choices_of:
            return get_args(self.kind)
        return tuple(name for module in self.choices_of for name in import_module(module).names())

    def allows(self, value: Any) -> bool:
        """Return whether a value is a choice; modules are imported only if the type does not list the value."""
        return value in get_args(self.kind) or value in self.choices


def refuse_unknown_choice(option: OptionDeclaration, value: Any) -> None:
    """Raise ``UsageError`` for a value, or one of several, that is not among the choices of an option."""
    name = option.flag if option.metavar else option.name  # click has already checked the others
    for each in value if get_origin(option.kind) is tuple else [value]:
        if not option.allows(each):
            name_text = each if isinstance(each, str) else ""
            raise UsageError(f"{name} {each!r}: unknown value; {hint(name_text, option.choices)}")


def refuse_unknown_choices(options: Any) -> None:
    """Raise ``UsageError`` for the first unknown choice, among options that can be checked without an import."""
    for each in declarations(options.__class__):
        value = getattr(options, each.name)
        if get_origin(each.kind) is Literal and (value is not None or each.default is not None):
            refuse_unknown_choice(each, value)


def set_options(options: Any, values: dict[str, Any]) -> None:
    """Set the fields of new options, as the ``__init__`` that ``dataclass`` generates.

    Raises:
        TypeError: A value is not for a field.
        UsageError: A choice is unknown.
    """
    known = options.__dataclass_fields__
    if unknown := values.keys() - known.keys():
        raise TypeError(f"{type(options).__name__}.__init__() got an unexpected keyword argument {min(unknown)!r}")
    for name, each in known.items():
        object.__setattr__(options, name, values.get(name, each.default))
    refuse_unknown_choices(options)


dataclass_without_init = partial(dataclass, init=False)


def option(default: Any, text: str, *, group: str, decides: Decides = "records", **more: Any) -> Any:
    """Return a dataclass field with a declaration; ``more`` contains other members of ``OptionDeclaration``."""
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
