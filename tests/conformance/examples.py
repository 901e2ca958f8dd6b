"""Minimal examples of the types of an SDK, made from their annotations.

Each text of an example has a word of its own, so that a test can see where it went.  ``examples`` varies one thing at a
time: the required members alone, then each optional member, each member of a union and each value of a literal, in the
types of members, too.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Iterable as IterableOf
from functools import cache
from itertools import count, islice
from typing import Any, NamedTuple

import typing_extensions
from pydantic import BaseModel

WORD = re.compile(r"zq\d{6}")
"""Eight letters and digits, so that a word is base64, too."""
_BLANK = "\0"
"""What becomes a word."""
_TEXTS: dict[str, str] = {
    **dict.fromkeys(("url", "uri", "image_url", "file_url", "fileUri"), f"https://{_BLANK}.example/a"),
    **dict.fromkeys(("media_type", "mediaType", "mimeType", "mime_type"), "image/png"),
    **dict.fromkeys(("arguments", "args"), f'{{"{_BLANK}":"{_BLANK}"}}'),
    "file_data": f"data:application/pdf;base64,{_BLANK}",
}
"""Texts of members that have a form, by the name of the member."""
_SCALARS: dict[Any, Any] = {
    bool: True, int: 7, float: 0.5, str: _BLANK, bytes: _BLANK, object: _BLANK, Any: _BLANK, type(None): None,
    dt.datetime: "2026-01-02T03:04:05Z", dict: {_BLANK: _BLANK}, list: [_BLANK],
}  # fmt: skip
_UNKNOWN = ("Unknown", "Unrecognized")
"""What the names of types begin with that an SDK has for what it does not know."""
_LISTS = (list, IterableOf, Sequence, tuple, set, frozenset)
_MAPPINGS = (dict, Mapping)
_TRANSPARENT = (
    typing.Annotated, typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired,
)  # fmt: skip


class Example(NamedTuple):
    """A value of a type."""

    name: str
    """The type and what is varied: ``BetaTextBlockParam.citations.BetaTextCitationParam``."""
    value: Any


class Member(NamedTuple):
    """A member of a type as its JSON has it."""

    name: str
    type: Any
    is_required: bool


class Shape(NamedTuple):
    """What the annotations of a type do not say."""

    base: Mapping[str, Any] = {}
    """Members that are there, too, but not with those in ``alone``."""
    alone: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    """Members that are never there."""


Shapes = Mapping[str, Shape]
_PLAIN = Shape()


def words(value: Any) -> set[str]:
    """The words in a value."""
    return set(WORD.findall(value if isinstance(value, str) else json.dumps(value, default=str)))


def examples(annotation: Any, depth: int = 2, shapes: Shapes | None = None) -> Iterator[Example]:
    """Examples of a type, or of each member of a union.

    Types are varied ``depth`` deep, in which each is varied once; ``shapes`` are those of types by name.
    """
    for each in union(annotation):
        for path, template in _Maker(depth, shapes or {}).varied(each):
            yield Example(".".join([label(each), *path]), _filled(template, count(1)))


def union(annotation: Any) -> list[Any]:
    """The members of a union, also of those in it; any other type alone."""
    bare = _bare(annotation)
    if typing.get_origin(bare) in (typing.Union, types.UnionType):
        found = dict.fromkeys(member for each in typing.get_args(bare) for member in union(each))
        return [each for each in found if not label(each).startswith(_UNKNOWN)]
    return [bare]


def label(annotation: Any) -> str:
    """The name of a type."""
    return str(getattr(typing.get_origin(annotation) or annotation, "__name__", annotation))


def _bare(annotation: Any) -> Any:
    """A type without what only annotates it."""
    while True:
        if isinstance(annotation, typing_extensions.TypeAliasType):
            annotation = annotation.__value__
        elif typing.get_origin(annotation) in _TRANSPARENT:
            annotation = typing.get_args(annotation)[0]
        else:
            return annotation


def _filled(template: Any, numbers: Iterator[int]) -> Any:
    """A template with words."""
    if isinstance(template, str):
        return re.sub(_BLANK, lambda _: f"zq{next(numbers):06d}", template)
    if isinstance(template, list):
        return [_filled(each, numbers) for each in template]
    if isinstance(template, dict):
        return {_filled(key, numbers): _filled(value, numbers) for key, value in template.items()}
    return template


Varied = Iterator[tuple[tuple[str, ...], Any]]
"""Templates, each with the path of what is varied; the minimal one first."""


class _Maker:
    """Makes templates of types."""

    def __init__(self, depth: int, shapes: Shapes) -> None:
        self._depth = depth
        self._shapes = shapes
        self._open: list[Any] = []
        """The types on the way to a member, which it does not contain again."""

    def varied(self, annotation: Any, name: str = "") -> Varied:
        of = union(annotation)
        of = sorted(of, key=lambda each: each is type(None))  # which says nothing
        for number, each in enumerate(of):
            prefix = (label(each),) if number else ()
            for path, template in self._one(each, name):
                yield (*prefix, *path), template

    def minimal(self, annotation: Any, name: str = "") -> Any:
        return next(self.varied(annotation, name))[1]

    def _one(self, of: Any, name: str) -> Varied:
        """Templates of what is not a union."""
        origin, parameters = typing.get_origin(of), typing.get_args(of)
        if origin is typing.Literal:
            yield from (((str(value),) if at else (), _value(value)) for at, value in enumerate(parameters))
        elif isinstance(of, type) and issubclass(of, enum.Enum):
            yield from (((str(value.value),) if at else (), value.value) for at, value in enumerate(of))
        elif origin in _LISTS:
            yield from self._held(parameters[0], name, [], lambda each: [each])
        elif origin in _MAPPINGS:
            yield from self._held(parameters[1], "", {}, lambda each: {_BLANK: each})
        elif members := members_of(of):
            yield from self._object(of, members)
        elif isinstance(of, type) and issubclass(of, BaseModel):
            yield (), {}
        else:
            yield (), _TEXTS.get(name, _BLANK) if of is str else _SCALARS.get(of, _BLANK)

    def _held(self, annotation: Any, name: str, nothing: Any, put: Callable[[Any], Any]) -> Varied:
        """Templates of what contains values of a type."""
        if self._is_free(annotation):
            yield from ((path, put(template)) for path, template in self.varied(annotation, name))
        else:
            yield (), nothing

    def _is_free(self, annotation: Any) -> bool:
        return not any(each in self._open for each in union(annotation))

    def _object(self, of: Any, members: list[Member]) -> Varied:
        """The required members, and each variant of a member with them."""
        shape = self._shapes.get(label(of), _PLAIN)
        members = [each for each in members if each.name not in shape.skip]
        self._open.append(of)
        try:
            required = {each.name: self.minimal(each.type, each.name) for each in members if each.is_required}
            required |= shape.base
            yield (), required
            for member in members if len(self._open) <= self._depth else ():
                if not member.is_required and not self._is_free(member.type):
                    continue
                beside = {} if member.name in shape.alone else required
                for path, template in islice(self.varied(member.type, member.name), member.is_required, None):
                    if template is not None or member.is_required:  # elsewhere a null says nothing
                        yield (member.name, *path), {**beside, member.name: template}
        finally:
            self._open.remove(of)


def _value(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


# Members


@cache
def _hints(of: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(of, include_extras=True)


def members_of(of: Any) -> list[Member]:
    """The members of a model, a dataclass or a typed dictionary; none of any other type."""
    if isinstance(of, type) and issubclass(of, BaseModel):
        fields = of.model_fields.items()
        return [_of_field(name, field) for name, field in fields if not field.exclude]
    if dataclasses.is_dataclass(of):
        return [
            _of_dataclass(each, _hints(of)[each.name])
            for each in dataclasses.fields(of)
            if each.init or _is_tag(_hints(of)[each.name])
        ]
    if typing_extensions.is_typeddict(of):
        return [_of_dict(name, hint, of) for name, hint in _hints(of).items()]
    return []


def _of_field(name: str, field: Any) -> Member:
    alias = field.serialization_alias or field.alias or name
    return Member(alias, field.annotation, field.is_required() or _is_tag(field.annotation))


def _of_dataclass(field: Any, hint: Any) -> Member:
    has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    return Member(field.name, hint, not has_default or _is_tag(hint))


def _of_dict(name: str, hint: Any, of: Any) -> Member:
    marks = {typing.get_origin(hint)}
    if marks & {typing.Required, typing_extensions.Required}:
        is_required = True
    else:
        is_required = name in of.__required_keys__ and not marks & {typing.NotRequired, typing_extensions.NotRequired}
    annotation = next((each for each in getattr(hint, "__metadata__", ()) if hasattr(each, "alias")), None)
    return Member(getattr(annotation, "alias", None) or name, hint, is_required or _is_tag(hint))


def _is_tag(annotation: Any) -> bool:
    """Whether a member has one value only, which tells its type from others."""
    bare = _bare(annotation)
    return typing.get_origin(bare) is typing.Literal and len(typing.get_args(bare)) == 1
