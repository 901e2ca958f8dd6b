"""Names that are typed: how they may be spelled, and what the shell completes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Name(click.ParamType):  # type: ignore[type-arg]  # in click 8.2 it takes none
    """A known name, in which hyphens and underscores are the same; whoever takes it refuses one that is not known."""

    name = "text"

    def __init__(self, known: Callable[[], Iterable[str]], offered: Callable[[], Iterable[str]] | None = None) -> None:
        """``offered`` are those of the names that the shell completes; by default all."""
        self._known, self._offered = known, offered or known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is known."""
        del param, ctx
        spelled = {_plain(name): name for name in self._known()}
        return spelled.get(_plain(str(value)), str(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so, however they are spelled."""
        del ctx, param
        begun = _plain(incomplete)
        return _items(name for name in self._offered() if _plain(name).startswith(begun))


class Codes(click.ParamType):  # type: ignore[type-arg]
    """Codes of findings, of which the shell completes the last; whoever takes them refuses one that is not known."""

    name = "text"

    def __init__(self, any_error: str = "", divider: str = "") -> None:
        """``any_error`` stands among codes for any error; a ``divider`` stands between several."""
        self._any_error, self._divider = any_error, divider

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The codes that begin so."""
        from chatsquash.checks import rules  # which only a completion needs here

        del ctx, param
        before, divider, begun = incomplete.rpartition(self._divider) if self._divider else ("", "", incomplete)
        known = sorted(filter(None, [self._any_error, *rules()]))
        return _items(f"{before}{divider}{code}" for code in known if code.startswith(begun))


def _plain(name: str) -> str:
    return name.replace("_", "-")


def _items(values: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value) for value in values]
