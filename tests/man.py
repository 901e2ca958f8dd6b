"""The manual pages of the command and of each of its commands: ``python -m tests.man``, or ``make man``, writes them.

They say what ``--help-all`` says, in the same groups. They are in no wheel: what they say depends on the version of click,
as help texts do, and building a wheel would have to run the command.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

from chatsquash import __version__
from chatsquash.cli import click_options
from chatsquash.cli.main import cli

NAME = "chatsquash"
_WIDE = 100_000
"""Columns in which no help text is cut."""
_ENVIRONMENT = (
    "A variable sets an option: CHATSQUASH_ and its name, as in CHATSQUASH_ON_INVALID=keep. The command line wins over "
    "variables, and these win over chatsquash.toml."
)


def pages() -> dict[str, str]:
    """Every manual page by its file's name."""
    group = cli.make_context(NAME, [], resilient_parsing=True)
    made = {f"{NAME}.1": page(NAME, group)}
    for name, command in cli.commands.items():
        context = command.make_context(name, [], parent=group, resilient_parsing=True)
        made[f"{NAME}-{name}.1"] = page(f"{NAME}-{name}", context)
    return made


def page(name: str, context: click.Context) -> str:
    """The manual page of a command."""
    context.meta[click_options.SHOWS_ALL] = True
    command = context.command
    pieces = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH {_text(name.upper())} 1 "" "{NAME} {__version__}" "{NAME}"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(command.get_short_help_str(_WIDE))}",
        ".SH SYNOPSIS",
        f".B {_text(context.command_path)}",
        _text(pieces),
        ".SH DESCRIPTION",
        "\n.PP\n".join(map(_text, cleandoc(command.help or "").split("\n\n"))),
        *_lists(context),
    ]
    if any(param.envvar for param in command.params):
        lines += [".SH ENVIRONMENT", _text(_ENVIRONMENT)]
    if command.epilog:
        lines += [".SH EXAMPLE", ".EX", _text(command.epilog.removeprefix("Example: ")), ".EE"]
    see = [NAME, *(f"{NAME}-{other}" for other in cli.commands)]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {_text(each)} (1)" for each in see if each != name)]
    return "\n".join(lines) + "\n"


def _lists(context: click.Context) -> Iterator[str]:
    """The groups of options, and of a group its commands."""
    parts = _Parts(width=_WIDE)
    context.command.format_options(context, parts)
    if len(parts.lists) > 1 and not isinstance(context.command, click.Group):
        yield ".SH OPTIONS"
    level = ".SS" if len(parts.lists) > 1 and not isinstance(context.command, click.Group) else ".SH"
    for title, rows in parts.lists:
        yield f"{level} {_text(title if level == '.SS' else title.upper())}"
        for name, told in rows:
            yield f".TP\n.B {_text(name.rstrip())}\n{_text(told)}"


class _Parts(click.HelpFormatter):
    """What a command writes as its help, as lists with titles."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.lists: list[tuple[str, list[tuple[str, str]]]] = []
        self._title = ""

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Give what is written inside a title."""
        self._title = name
        yield

    def write_dl(self, rows: Iterable[tuple[str, str]], *_: Any, **__: Any) -> None:
        """Keep the rows."""
        self.lists.append((self._title, list(rows)))


def _text(text: str) -> str:
    """Text of one line, none of which roff takes for a request or an escape."""
    line = " ".join(text.replace("``", "").split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def main() -> None:
    """Write the pages into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
