"""The command: its list of commands, and the exit code of a run."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from chatsquash.cli.exits import tolerate_closed_pipe
from chatsquash.core.errors import ChatsquashError
from chatsquash.core.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "convert": "Convert session logs into a dataset.",
    "sources": "List what agents keep on this machine.",
    "explain": "Explain findings; without a code, list them.",
    "shards": "Divide session logs for several machines.",
    "merge": "Write the dataset of all shards.",
    "check": "Check datasets, and how a chat template renders them.",
    "stats": "Count turns, lengths, tools and duplicates in datasets.",
    "show": "Show one record of a dataset as a conversation.",
    "report": "Write a page about a result, for people.",
    "view": "Show a result, or session logs, in the browser.",
    "verify": "Compare an output folder with its run.json.",
    "push": "Send a dataset folder to the Hugging Face Hub.",
    "inspect": "Show session logs entry by entry.",
    "translate": "Translate conversations from one format to another.",
    "redact": "Copy datasets with placeholders for what is private.",
    "formats": "List the formats that chatsquash reads and writes.",
}
"""Each command has a module of its name in this folder, which is imported when the command is run."""
INTERRUPTED = 130
_LONGEST = 3_000
"""Characters of an error on the terminal."""
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main() -> NoReturn:
    """Run the command; the exit codes are in ``docs/cli.md``."""
    # A signal ends it as an error does, so that nothing half done is left.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        if stream:  # a process may be started without
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = cli.main(prog_name="chatsquash", standalone_mode=False)
    except click.ClickException as problem:
        with tolerate_closed_pipe():
            problem.show()
        code = problem.exit_code
    except click.Abort as problem:
        with tolerate_closed_pipe():
            click.echo("; ".join(["interrupted", *_notes(problem.__cause__)]), err=True)
        code = INTERRUPTED
    except ChatsquashError as problem:
        code = _fail(str(problem), problem)
    except OSError as problem:
        place = f"{problem.filename}: " if problem.filename else ""
        code = _fail(f"{place}{problem.strerror}", problem)
    except MemoryError as problem:
        why = "memory ran out: raise the limit (ulimit -v) or leave out the largest file or record"
        code = _fail(why, problem)
    sys.exit(code)


def _notes(problem: BaseException | None) -> list[str]:
    """What was said with an exception on its way: what is kept, and how to go on."""
    return getattr(problem, "__notes__", [])


def _fail(why: str, problem: BaseException) -> int:
    from chatsquash.core.text import escape

    error = "error" if os.environ.get("NO_COLOR") else click.style("error", fg="red", bold=True)
    text = escape("; ".join([why, *_notes(problem)]))
    if len(text) > _LONGEST:  # a library may quote all that it was given
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    with tolerate_closed_pipe():
        click.echo(f"{error}: {text}", err=True)
    return problem.exit_code if isinstance(problem, ChatsquashError) else ChatsquashError.exit_code


def _version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Show which version this is."""
    if is_asked and not context.resilient_parsing:
        click.echo(f"chatsquash, version {__version__}")
        context.exit()


class _Commands(click.Group):
    """The commands, of which a module is imported when its command is run or its help is shown."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.commands

    @cached_property
    def commands(self) -> dict[str, click.Command]:  # type: ignore[override]  # it is set as an attribute is
        """All commands, for documentation."""
        return {name: _command(name) for name in COMMANDS}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        del ctx
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is typed; of logs in its place, an error says which command converts them."""
        if args[0] not in COMMANDS and Path(args[0]).exists():
            ctx.fail(f"{args[0]!r} is no command. To convert it: chatsquash convert {shlex.quote(args[0])}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing the modules of all."""
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

    A variable can set each option: CHATSQUASH_ and its name, as in CHATSQUASH_ON_INVALID=keep.
    """
    if context.invoked_subcommand is not None:
        return
    if not (sys.stdout and sys.stdout.isatty()):  # a script that names no command is wrong
        with tolerate_closed_pipe():
            click.echo(context.get_help(), err=True)
        context.exit(click.UsageError.exit_code)
    from chatsquash.inspect import agents

    with tolerate_closed_pipe():
        click.echo(f"{context.get_help()}\n\nWhat agents keep on this machine:\n\n{agents.as_text()}")
