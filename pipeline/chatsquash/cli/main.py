"""The ``chatsquash`` command: its subcommands, errors and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from chatsquash.cli.exits import tolerate_closed_pipe
from chatsquash.core.errors import ChatsquashError, NothingToReadError
from chatsquash.core.platform import name_full_folder
from chatsquash.core.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

CHAPTERS = {
    "Make a dataset": {
        "convert": "Convert session logs into a dataset.",
        "shards": "Divide session logs into shards for several machines.",
        "merge": "Join finished results, or the shards of a run.",
        "flatten": "Write the samples of a forest with one row per sample.",
        "forget": "Remove sessions from a finished dataset.",
        "redact": "Copy datasets, replacing secrets and personal data with placeholders.",
    },
    "Look at logs and datasets": {
        "sources": "List the sessions of agents on this machine.",
        "list": "List the sessions of a dataset or of logs.",
        "inspect": "Show session logs entry by entry.",
        "show": "Print one record as a conversation.",
        "stats": "Count messages, tokens, tools and duplicates.",
        "view": "Browse a dataset or session logs in the browser.",
        "report": "Write an HTML report about an output folder.",
    },
    "Check a dataset": {
        "check": "Check records, and how a chat template renders them.",
        "diff": "Compare two output folders session by session.",
        "verify": "Compare an output folder with the hashes in its run.json.",
        "recipe": "Certify that a trainer trains on the replies of a dataset.",
        "explain": "Explain findings by their codes.",
    },
    "Keep logs": {
        "archive": "Copy session logs into an archive before they are deleted.",
    },
    "Use conversations elsewhere": {
        "push": "Upload a dataset folder to the Hugging Face Hub.",
        "translate": "Translate conversations between formats.",
        "formats": "List the formats that chatsquash reads and writes.",
    },
}
"""The commands by task. The module of a command has its name and is imported when the command runs."""
COMMANDS = {name: text for commands in CHAPTERS.values() for name, text in commands.items()}
_WIDEST = max(map(len, COMMANDS))
INTERRUPTED = 130
_ALIKE = 0.7
"""The similarity, from 0 to 1, above which an option is suggested."""
_LONGEST = 3_000
"""The length of an error on the terminal, in characters."""
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main() -> NoReturn:
    """Run the command; the exit codes are in ``docs/cli.md``."""
    # SIGTERM raises SystemExit, so that cleanup runs and no partial files remain.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        if stream:  # a process may be started without standard streams
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = cli.main(prog_name="chatsquash", standalone_mode=False)
    except click.ClickException as problem:
        code = _fail(_usage_error(problem), problem)
    except click.Abort as problem:
        with tolerate_closed_pipe():
            click.echo("; ".join(["interrupted", *_notes(problem.__cause__)]), err=True)
        code = INTERRUPTED
    except ChatsquashError as problem:
        code = _fail(str(problem), problem)
    except OSError as problem:
        from tempfile import gettempdir  # which only an error needs

        name_full_folder(problem, gettempdir())
        place = f"{problem.filename}: " if problem.filename else ""
        code = _fail(f"{place}{problem.strerror}", problem)
    except MemoryError as problem:
        why = "out of memory: raise the limit (ulimit -v) or exclude the largest file or record"
        code = _fail(why, problem)
    sys.exit(code)


def _notes(problem: BaseException | None) -> list[str]:
    """Return the notes of an exception, which state the progress so far and how to continue."""
    return getattr(problem, "__notes__", [])


_OF_CLICK = {"is not a valid integer range": "is not a whole number", "is not a valid integer": "is not a whole number"}
"""Wording of click, with the replacement used here."""


def _usage_error(problem: click.ClickException) -> str:
    """Rewrite an error of click in the style of other errors: where, what, and what to do next."""
    from difflib import get_close_matches  # which only an error needs

    text = problem.format_message().rstrip(".")
    context = getattr(problem, "ctx", None)
    see = f"; see {context.command_path} --help" if context else ""
    if isinstance(problem, click.NoSuchOption):
        known = [name for each in problem.ctx.command.params for name in each.opts] if problem.ctx else []
        near = get_close_matches(problem.option_name, known, 1, _ALIKE)
        return f"{problem.option_name}: no such option{f'; did you mean {near[0]}?' if near else see}"
    if isinstance(problem, click.MissingParameter) and problem.param and context:
        flag = f"{max(problem.param.opts, key=len)} " if isinstance(problem.param, click.Option) else ""
        return f"{flag}{problem.param.make_metavar(context).removesuffix('...')} is missing{see}"
    if isinstance(problem, click.BadParameter) and problem.param:
        text = problem.message.rstrip(".")
        for theirs, ours in _OF_CLICK.items():
            text = text.replace(theirs, ours)
        says_what_to_do = ";" in text
        return f"{max(problem.param.opts, key=len)}: {text}{'' if says_what_to_do else see}"
    is_sentence = text[1:2].islower()
    return (text[:1].lower() if is_sentence else text[:1]) + text[1:] + (see if text.startswith("No such") else "")


def _fail(why: str, problem: BaseException) -> int:
    from chatsquash.core.extras import with_add_command
    from chatsquash.core.text import escape

    error = "error" if os.environ.get("NO_COLOR") else click.style("error", fg="red", bold=True)
    lines = why.split("\n") if isinstance(problem, NothingToReadError) else [why]
    text = "\n".join(map(escape, [*lines[:-1], with_add_command("; ".join([lines[-1], *_notes(problem)]))]))
    if len(text) > _LONGEST:  # a library may quote its entire input
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    with tolerate_closed_pipe():
        click.echo(f"{error}: {text}", err=True)
    return getattr(problem, "exit_code", ChatsquashError.exit_code)


def _version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the version and exit."""
    if is_asked and not context.resilient_parsing:
        click.echo(f"chatsquash, version {__version__}")
        context.exit()


class _Commands(click.Group):
    """The command group; a command's module is imported when the command runs or its help is shown."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.commands

    @cached_property
    def commands(self) -> dict[str, click.Command]:  # type: ignore[override]  # it is set as an attribute is
        """All commands, which only documentation needs."""
        return {name: _command(name) for name in COMMANDS}

    @property
    def commands_with_subcommands(self) -> dict[str, click.Command]:
        """All commands, and after each its subcommands, such as ``archive ls``."""
        commands = dict[str, click.Command]()
        for name, command in self.commands.items():
            commands[name] = command
            inner: dict[str, click.Command] = getattr(command, "commands", {})
            commands.update({f"{name} {each}": subcommand for each, subcommand in inner.items()})
        return commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name."""
        del ctx
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the typed command; if it is a path, the error suggests ``convert``."""
        if args[0] not in COMMANDS and Path(args[0]).exists():
            from shlex import quote  # which only an error needs

            ctx.fail(f"{args[0]!r} is not a command. To convert it: chatsquash convert {quote(args[0])}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by task, without importing their modules."""
        del ctx
        for title, commands in CHAPTERS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(_WIDEST), text) for name, text in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing all modules."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return commands + click.Command.shell_complete(self, ctx, incomplete)


def _command(name: str) -> click.Command:
    command: click.Command = getattr(import_module(f"chatsquash.cli.{name}"), name)
    command.short_help = COMMANDS[name]
    return command


@click.group(
    cls=_Commands,
    context_settings=_CONTEXT,
    invoke_without_command=True,
    epilog="Example: chatsquash convert logs --output out",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Turn directories of LLM session logs into fine-tuning datasets.

    Every option can also be set by an environment variable, such as CHATSQUASH_PRESET=hf, or in chatsquash.toml.
    """
    if context.invoked_subcommand is not None:
        return
    if not (sys.stdout and sys.stdout.isatty()):  # a script without a command is wrong
        with tolerate_closed_pipe():
            click.echo(context.get_help(), err=True)
        context.exit(click.UsageError.exit_code)
    from chatsquash.inspect import agents

    with tolerate_closed_pipe():
        click.echo(f"{context.get_help()}\n\nSessions of agents on this machine:\n\n{agents.as_text()}")
