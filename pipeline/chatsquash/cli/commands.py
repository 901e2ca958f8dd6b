"""The command: options in, one call, an exit code out."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from chatsquash.cli import exits, privacy
from chatsquash.cli.click_options import (
    SHARD_OPTIONS,
    Command,
    argument,
    engine_options,
    is_typed,
    option,
    options,
    options_of,
    refuse_alone,
    refuse_beside,
    refuse_idle,
    rendering,
    shard_options,
    where_of,
)
from chatsquash.cli.names import Codes, Name
from chatsquash.core.errors import ChatsquashError
from chatsquash.core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatsquash.conversion.progress import Watch
    from chatsquash.core.model import Severity
    from chatsquash.results.contamination import Evaluation

_Run = TypeVar("_Run", bound="Callable[..., Any]")
LEFT_OUT = exits.LEFT_OUT
INTERRUPTED = 130
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
        with _whoever_listens():
            problem.show()
        code = problem.exit_code
    except click.Abort as problem:
        with _whoever_listens():
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
    from chatsquash.core.text import escaped

    error = "error" if os.environ.get("NO_COLOR") else click.style("error", fg="red", bold=True)
    with _whoever_listens():
        click.echo(f"{error}: {escaped('; '.join([why, *_notes(problem)]))}", err=True)
    return problem.exit_code if isinstance(problem, ChatsquashError) else ChatsquashError.exit_code


@contextmanager
def _whoever_listens() -> Iterator[None]:
    """Say how it ended; a pipe that is closed by then changes nothing, neither here nor when Python flushes it."""
    try:
        yield
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            os.dup2(nowhere, stream.fileno())


def _version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Show which version this is."""
    if is_asked and not context.resilient_parsing:
        click.echo(f"chatsquash, version {__version__}")
        context.exit()


class _Commands(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is typed; of logs in its place, an error says which command converts them."""
        if self.get_command(ctx, args[0]) is None and Path(args[0]).exists():
            ctx.fail(f"{args[0]!r} is no command. To convert it: chatsquash convert {shlex.quote(args[0])}")
        return super().resolve_command(ctx, args)


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
        with _whoever_listens():
            click.echo(context.get_help(), err=True)
        context.exit(click.UsageError.exit_code)
    from chatsquash.inspect import discovered

    with _whoever_listens():
        click.echo(f"{context.get_help()}\n\nWhat agents keep on this machine:\n\n{discovered.as_text()}")


_output = option(
    "--output",
    "-o",
    default="out",
    show_default=True,
    metavar="DIR",
    help="The folder, or the URL, to write records and reports to.",
)
_single_file = option("--single-file", is_flag=True, help="The same as --group-by none.")
_DECIDING = (
    "cleaning",
    "sessions",
    "sampling",
    "shape",
    "supplied",
    "reading",
    "addresses",
    "privacy",
    "checks",
    "grouping",
)
_TAKING = ("dataset", "filters", "alike", "reports", "paths", "days", "links", "bounds")


def _fail_on(otherwise: str) -> Callable[[_Run], _Run]:
    """What findings a command ends with 3 for, and what it does not count then."""
    told = f"Exit with 3 if one of these findings is made (error: any error), {otherwise}."
    return option("--fail-on", multiple=True, type=Codes("error", ","), metavar="CODE,...", help=told)


def _telling(run: Any) -> Any:
    """What a run says on the screen."""
    as_json = option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
    quiet = option("--quiet", "-q", is_flag=True, help="Print neither progress nor summary.")
    verbose = option("--verbose", "-v", is_flag=True, help="Show the role trace of sessions with errors.")
    fail_on = _fail_on("and not for what is left out")
    progress = option(
        "--progress",
        type=click.Choice(["auto", "json"]),
        default="auto",
        show_default=True,
        help="auto shows progress as a bar on a terminal, else as a line every 30 s; json prints JSON lines.",
    )
    return as_json(quiet(verbose(progress(fail_on(run)))))


def _agents() -> tuple[str, ...]:
    from chatsquash.inspect import discovered  # which few runs need

    return discovered.known_agents()


@cli.command(
    cls=Command,
    short_help="Convert session logs into a dataset.",
    epilog="Example: chatsquash convert logs --preset hf --format parquet --redact secrets",
)
@argument("logs", nargs=-1, metavar="LOGS...")
@_output
@option(
    "--agent",
    "agents",
    multiple=True,
    type=Name(_agents),
    metavar="NAME",
    help="Convert what this agent keeps on this machine.",
)
@option("--shard", metavar="K/N", help="Convert this shard of those that chatsquash shards made. Takes no LOGS.")
@options(*_DECIDING)
@_single_file
@options(*_TAKING, "run")
@option("--report", is_flag=True, help="Also write report.html into the output folder, as chatsquash report does.")
@engine_options
@_telling
def convert(logs: tuple[str, ...], *, agents: tuple[str, ...], shard: str | None, report: bool, **given: Any) -> int:
    """Convert session logs (folders, files, globs or URLs) into a dataset, one record per session.

    Exits with 0 when it wrote everything, 3 when it left out a session or a line or wrote no record at all, 1 when
    something stopped it, 2 when it could not start.
    """
    from chatsquash.conversion.engines import engine
    from chatsquash.core.platform import collect_less

    collect_less()
    exits.refuse_unknown(given["fail_on"])
    if shard is not None:
        return _convert_shard(shard, logs, given)
    if agents:
        logs = (*logs, *_kept(agents))
    if not logs:
        raise click.UsageError("Missing argument 'LOGS...'.")
    where = where_of(given)
    runs = engine(where.engine)
    if report and not where.merge:
        raise click.UsageError("--report has no effect with --no-merge: leave one of them out.")
    if report:
        from chatsquash.pages.result.report import refuse

        refuse(given["output"])
    asked = options_of(given, makes_key=runs.MAKES_KEY)
    with _watch(given) as watch:
        done = runs.convert(logs, given["output"], asked, where, watch)
    code = _told(done, given)
    if report:
        _report(given["output"], quiet=given["quiet"])
    return code


def _report(output: str, *, quiet: bool = False) -> None:
    """Write the page of a result, and say where it is."""
    from chatsquash.conversion.progress import Bar
    from chatsquash.core.text import escaped
    from chatsquash.pages.result.report import report as run

    with Bar(quiet=quiet) as bar:
        page = run(output, bar.observe)
    if not quiet:
        with _whoever_listens():
            click.echo(f"report: {escaped(str(page))}", err=True)


def _kept(agents: tuple[str, ...]) -> list[str]:
    from chatsquash.inspect import discovered  # which few runs need

    return discovered.paths(agents)


@cli.command(short_help="List what agents keep on this machine.", epilog="Example: chatsquash sources")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def sources(*, as_json: bool) -> None:
    """List the sessions that agents keep on this machine, with the command that converts them.

    Looks only at names, sizes and times. The one file that it opens is the settings of Claude Code, which say when
    Claude Code deletes sessions.
    """
    from chatsquash.inspect import discovered

    with _whoever_listens():
        click.echo(discovered.as_json() if as_json else discovered.as_text())


@cli.command(
    cls=Command,
    short_help="Explain findings; without a code, list them.",
    epilog="Example: chatsquash explain no-tools",
)
@argument("codes", nargs=-1, type=Codes(), metavar="[CODE]...")
def explain(codes: tuple[str, ...]) -> None:
    """Explain findings: what each means, why it matters, an example, what to do. Without CODE, list all."""
    from chatsquash.cli.explained import listed, page

    pages = list(map(page, codes))
    with _whoever_listens():
        click.echo("\n".join(pages).rstrip("\n") if pages else listed())


def _convert_shard(shard: str, logs: tuple[str, ...], given: dict[str, Any]) -> int:
    from chatsquash.conversion.shards import place
    from chatsquash.conversion.shards.convert import convert_shard
    from chatsquash.dataset.outputs import place_of

    wanted = place.parsed(shard)
    refuse_beside("--shard", SHARD_OPTIONS, logs)
    with _watch(given) as watch:
        done = convert_shard(place_of(given["output"]), wanted, shard_options(given), watch.observer)
    return _told(done, given, done.marker.complete)


def _watch(given: dict[str, Any]) -> Watch:
    from chatsquash.conversion.progress import Watch

    return Watch(quiet=given["quiet"], verbose=given["verbose"], as_json=given["progress"] == "json")


def _told(done: Any, given: dict[str, Any], complete: bool | None = None) -> int:
    """Say what a run did; its exit code."""
    from chatsquash.core.text import shown

    with _whoever_listens():
        if given["as_json"]:
            click.echo(shown(done.as_json(), indent=True))
        elif not given["quiet"]:
            click.echo(done.as_text(), err=True)
    is_complete = done.complete if complete is None else complete
    return exits.code(done, given["fail_on"], is_complete=is_complete, is_shard=complete is not None)


@cli.command(
    cls=Command,
    short_help="Divide session logs for several machines.",
    epilog="Example: chatsquash shards logs --shards 8 --output out",
)
@argument("logs", nargs=-1, required=True)
@_output
@option(
    "--shards", "-n", "count", type=click.IntRange(min=1), required=True, metavar="N", help="How many shards to make."
)
@options(*_DECIDING)
@_single_file
@options(*_TAKING, "strict", "force", "replace")
def shards(logs: tuple[str, ...], *, count: int, **given: Any) -> None:
    """Divide session logs into shards that several machines convert with these options.

    Every machine has to see LOGS and the output folder under the same paths. Next, run chatsquash convert --shard K/N
    for each K from 1 to N, and chatsquash merge at the end.
    """
    from chatsquash.conversion.shards.divide import divide

    divided = divide(logs, given["output"], options_of(given, makes_key=False), count)
    with _whoever_listens():
        click.echo(divided.as_text(), err=True)


@cli.command(cls=Command, short_help="Write the dataset of all shards.", epilog="Example: chatsquash merge out")
@argument("output", metavar="OUT")
@option(
    "--anonymize-key-file",
    "key_file",
    metavar="FILE",
    help="The file with the key of the shards, if they replaced paths.",
)
@_telling
def merge(output: str, *, key_file: str | None, **given: Any) -> int:
    """Write the dataset of all shards of an output folder: the same as one run on one machine writes.

    Exits as convert does.
    """
    from chatsquash.conversion.shards.merge import merge as run
    from chatsquash.core.platform import collect_less
    from chatsquash.dataset.outputs import place_of
    from chatsquash.redact.keys import load_key

    collect_less()
    exits.refuse_unknown(given["fail_on"])
    key = load_key(key_file) if key_file else None
    with _watch(given) as watch:
        summary = run(place_of(output), watch.observer, key=key, is_named=is_typed("key_file"))
    return _told(summary, given)


@cli.command(
    cls=Command,
    short_help="Check datasets, and how a chat template renders them.",
    epilog="Example: chatsquash check out --template chat.jinja",
)
@argument("datasets", nargs=-1, required=True)
@option("--template", metavar="FILE", help="Also render every record with this chat template.")
@option(
    "--for", "trainer", metavar="TRAINER", help="Render it as axolotl, oumi or trl does, which has to be installed."
)
@option("--show", type=click.IntRange(min=1), metavar="N", help="Only print how the N-th record renders.")
@rendering
@option(
    "--against", multiple=True, metavar="EVALSET", help="Report records that share 13 words in a row with this set."
)
@options("flag_phrase", "check_arguments")
@option("--anonymize/--no-anonymize", default=False, help="Report e-mail addresses that convert would replace.")
@privacy.finding
@_fail_on("and for no other finding")
@option("--json", "as_json", is_flag=True, help="Print the findings as JSON lines.")
def check(datasets: tuple[str, ...], *, template: str | None, show: int | None, as_json: bool, **given: Any) -> int:
    """Check the records of datasets: JSONL or Parquet files, or folders of them, with native or inlined calls.

    Prints the findings, and their counts by code on standard error. Exits with 3 when one of them is an error, or is
    what --redact names; --fail-on names findings that count in their place. The FILE of --template is a .jinja file, a
    tokenizer_config.json, a chat_template.json or a model's folder.
    """
    from collections import Counter
    from itertools import chain

    from chatsquash.checks.phrases import Phrases
    from chatsquash.core.text import printable
    from chatsquash.dataset import findings_text as report
    from chatsquash.dataset.summary import by_code
    from chatsquash.redact.requests import redactor
    from chatsquash.results import template as trying
    from chatsquash.results.check import Looks
    from chatsquash.results.check import check as run

    exits.refuse_unknown(given["fail_on"])
    render = {name: given[name] for name in ("render_time", "render_memory")}
    refuse_alone(template, render)
    trainer = given["trainer"]
    if trainer and not template:
        trying.refuse_unnamed(trainer)
    if show:
        if as_json:
            raise click.UsageError("--json has no effect with --show: leave one of them out.")
        if is_typed("fail_on"):
            raise click.UsageError("--fail-on has no effect with --show: leave one of them out.")
        if not template:
            raise click.UsageError("--show prints a rendering, so it needs --template.")
        click.echo(trying.show(datasets, template, show, trainer, **render))
        return 0
    trials = trying.Trials(template, trainer, **render) if template else None
    evaluation = _evaluation(given["against"])
    gates = privacy.gates(given)
    wanted = privacy.private_of(given, needs_key=False)
    asked = {"--template": template, "--against": evaluation, "--check-arguments": given["check_arguments"]}
    asked |= {"--redact": wanted.replaces, "--anonymize": wanted.anonymize}
    exits.refuse_unasked(given["fail_on"], {flag for flag, value in asked.items() if value})
    looks = Looks(
        phrases=Phrases(given["flag_phrase"]),
        addresses=wanted.anonymize,
        private=redactor(wanted),
        also=trials.look if trials else None,
        overlap=evaluation.look if evaluation else None,
        arguments=given["check_arguments"],
    )
    counts: Counter[tuple[Severity, str]] = Counter()
    looked = (finding for dataset in datasets for finding in run(dataset, looks))
    for finding in chain(looked, trials.finish() if trials else ()):
        counts[finding.severity, finding.code] += 1
        record = f"{printable(finding.file)}:{finding.line}" if finding.line is not None else None
        click.echo(report.as_json(finding, record) if as_json else report.as_text(finding))
    with _whoever_listens():
        beside = [*(trials.summary() if trials else ()), *([evaluation.told()] if evaluation else [])]
        for line in (*beside, *by_code("findings", counts), *(trials.mended() if trials else ())):
            click.echo(line, err=True)
    return exits.code_of_check(counts, given["fail_on"], gates)


def _evaluation(paths: tuple[str, ...]) -> Evaluation | None:
    """The evaluation sets that records are held to."""
    if not paths:
        return None
    from chatsquash.results.contamination import Evaluation

    return Evaluation(paths)


@cli.command(
    cls=Command,
    short_help="Count turns, lengths, tools and duplicates in datasets.",
    epilog="Example: chatsquash stats out",
)
@argument("datasets", nargs=-1, required=True)
@option("--tokenizer", metavar="FILE", help="Also count tokens, with a tokenizer.json or that of a model's folder.")
@option("--template", metavar="FILE", help="Count the tokens of records as this chat template renders them.")
@rendering
@option("--json", "as_json", is_flag=True, help="Print the statistics as JSON.")
def stats(
    datasets: tuple[str, ...], *, tokenizer: str | None, template: str | None, as_json: bool, **render: Any
) -> int:
    """Count messages, lengths, tools and duplicates in datasets: JSONL or Parquet files, or folders of them.

    Exits with 3 when a line is no record.
    """
    from chatsquash.core.text import shown
    from chatsquash.results import stats as counting
    from chatsquash.results import stats_table as report
    from chatsquash.results import template as trying
    from chatsquash.templates.counting import Counter, Tokenizer, of_template, packed

    refuse_alone(template, render)
    tokenizer = tokenizer or (of_template(template) if template else None)
    if template and not tokenizer:
        told = "its folder has no tokenizer.json, so it needs --tokenizer"
        raise click.UsageError(f"--template says what tokens are counted of; {told}.")
    rendered = trying.template(template, **render) if template else None
    tokens = Counter(Tokenizer(packed(tokenizer)), rendered) if tokenizer else None
    counted = counting.stats(datasets, tokens)
    if as_json:
        click.echo(shown(report.as_json(counted), indent=True))
    else:
        click.echo(report.as_text(counted))
    return LEFT_OUT if counted.unreadable else 0


@cli.command(
    cls=Command, short_help="Show one record of a dataset as a conversation.", epilog="Example: chatsquash show out 1"
)
@argument("dataset", metavar="OUT")
@argument("which", metavar="N|ID|FILE:ROW")
@option("--unfold", is_flag=True, help="Show all of every text.")
@option("--json", "as_json", is_flag=True, help="Print the record, its place and its session as JSON.")
def show(dataset: str, which: str, *, unfold: bool, as_json: bool) -> None:
    """Show one record of a dataset as a conversation: by its number, its session's id, or its place.

    Long texts, results and reasoning are folded. With rich (the extra view) a terminal shows colours.
    """
    from chatsquash.core.text import shown
    from chatsquash.results import conversation_text
    from chatsquash.results.show import show as run

    found = run(dataset, which)
    if as_json:
        click.echo(shown(found.as_json(), indent=True))
        return
    click.echo(found.title())
    lines = conversation_text.lines(found.held, unfold=unfold)
    if not (sys.stdout and sys.stdout.isatty() and conversation_text.has_colours()):
        click.echo(conversation_text.as_text(lines))
    else:
        conversation_text.print_in_colours(lines)


@cli.command(
    cls=Command,
    short_help="Write a page about a result, for people.",
    epilog="Example: chatsquash report out",
)
@argument("output", metavar="OUT")
def report(output: str) -> None:
    """Write OUT/report.html: figures, charts, findings and the sessions most worth a look, in one file.

    The page loads nothing and needs no server. Only its owner can read it, and push does not send it. It also shows
    what the logs hold that run.json names, where they are still there. Needs the extra report.
    """
    _report(output)


@cli.command(
    cls=Command,
    short_help="Show a result, or session logs, in the browser.",
    epilog="Example: chatsquash view out --open",
)
@argument("given", nargs=-1, required=True, metavar="OUT|LOGS...")
@options("cleaning", "reading", "bounds")
@option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port.  [default: a free one]")
@option("--open", "opens", is_flag=True, help="Open it in the browser.")
@option("--template", metavar="MODEL", help="Also show records as this chat template renders them.")
def view(given: tuple[str, ...], *, port: int, opens: bool, template: str | None, **reading: Any) -> None:
    """Show a result, or session logs, in the browser: sessions, conversations, their logs, and a search.

    Serves pages on loopback to whoever has the token in the URL that it prints, until Ctrl-C. It converts LOGS to a
    private folder, which goes at the end. It needs the extra view.
    """
    from chatsquash.conversion.progress import Watch
    from chatsquash.core.options import Options
    from chatsquash.dataset.option_rules import refuse_typed
    from chatsquash.view import serve

    asked = Options(anonymize=False, trace_replies=True, **reading)
    refuse_typed(asked)
    if serve.result_of(given):
        refuse_idle(reading, "on a result, whose logs were read before")
    watch = Watch(quiet=False, verbose=False)
    serve.view(given, asked, port=port, template=template, opens=opens, say=click.echo, watch=watch)


@cli.command(
    cls=Command,
    short_help="Compare an output folder with its run.json.",
    epilog="Example: chatsquash verify out --logs",
)
@argument("output", metavar="OUT")
@argument("given", nargs=-1, metavar="[LOGS]...")
@option("--logs", is_flag=True, help="Also compare the logs with their hashes.")
@option("--anonymize-key-file", "key_file", metavar="FILE", help="With LOGS: the file with the key of the run.")
@option("--json", "as_json", is_flag=True, help="Print what was compared and what does not agree as JSON.")
def verify(output: str, given: tuple[str, ...], *, logs: bool, key_file: str | None, as_json: bool) -> int:
    """Compare an output folder, or its URL, with its run.json: the hash of every file, counts and sums.

    Where the run replaced the paths of logs, --logs needs LOGS as you gave them to convert. Prints every difference,
    and exits with 3 when there is one.
    """
    from chatsquash.core.text import counted, escaped, shown
    from chatsquash.dataset.outputs import place_of
    from chatsquash.redact.keys import load_key
    from chatsquash.results.verify import Known
    from chatsquash.results.verify import verify as run

    if given and not logs:
        raise click.UsageError("LOGS are compared with --logs only: add that, or leave them out.")
    if not given and is_typed("key_file"):
        raise click.UsageError("--anonymize-key-file has no effect without LOGS: add these, or leave it out.")
    known = Known(given, load_key(key_file)) if given else None
    done = run(place_of(output), logs=logs, known=known)
    if as_json:
        click.echo(shown({"files": done.files, "logs": done.logs, "problems": done.problems}, indent=True))
        return LEFT_OUT if done.problems else 0
    for problem in done.problems:
        click.echo(escaped(problem))
    compared = [counted(done.files, "file"), *([counted(done.logs, "log")] if logs else [])]
    click.echo(f"{', '.join(compared)} compared, {counted(len(done.problems), 'difference')}", err=True)
    return LEFT_OUT if done.problems else 0


@cli.command(
    cls=Command,
    short_help="Send a dataset folder to the Hugging Face Hub.",
    epilog="Example: chatsquash push out hf://datasets/me/agents --dry-run",
)
@argument("output", metavar="OUT")
@argument("dataset", metavar="hf://datasets/OWNER/NAME[@BRANCH]")
@option("--public", is_flag=True, help="Send to a dataset that everybody can read, not to a private one.")
@option("--dry-run", is_flag=True, help="Only show what push would send.")
@option("--yes", "-y", is_flag=True, help="Send without asking.")
def push(output: str, dataset: str, *, public: bool, dry_run: bool, yes: bool) -> int:
    """Send a dataset folder to the Hugging Face Hub: its card, data and images, and nothing else of OUT.

    Shows what it would send, and asks. Sends only what the Hub does not have yet, and changes the dataset by one
    commit. A new dataset is private.
    """
    from chatsquash.conversion.progress import Bar
    from chatsquash.core.text import escaped
    from chatsquash.hub.push import Asked
    from chatsquash.hub.push import push as run

    if dry_run and yes:
        raise click.UsageError("--yes has no effect with --dry-run, which does not ask: leave one of them out.")
    if not (dry_run or yes or (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("push asks before it sends, and nobody is at a terminal: add --yes, or --dry-run.")

    def say(lines: list[str]) -> None:
        click.echo("\n".join(map(escaped, lines)))

    def agree() -> bool:
        return yes or click.confirm("Send this?", err=True)

    with Bar(quiet=False) as bar:
        done = run(output, dataset, Asked(public, dry_run, say, agree, bar.observe))
    with _whoever_listens():
        click.echo(done.told, err=True)
    return 0 if done.agreed else 1


@cli.command(
    cls=Command, short_help="Show session logs entry by entry.", epilog="Example: chatsquash inspect logs/session.jsonl"
)
@argument("logs", nargs=-1, required=True, metavar="LOG...")
@options("cleaning", "reading", "bounds")
@option("--verbose", "-v", is_flag=True, help="Show the beginning of each message's text.")
@option(
    "--definitions",
    is_flag=True,
    help="Only print tool definitions and system prompts, for --tools-file and --system-file.",
)
@option("--json", "as_json", is_flag=True, help="Print an object for each session, as JSON lines.")
def inspect(logs: tuple[str, ...], *, verbose: bool, definitions: bool, as_json: bool, **given: Any) -> None:
    """Show session logs (folders, files, globs or URLs) entry by entry, to see why a session came out as it did."""
    from chatsquash.cli import colours
    from chatsquash.core.options import Options
    from chatsquash.core.text import shown
    from chatsquash.dataset.option_rules import refuse_typed
    from chatsquash.inspect import inspect as run

    asked = Options(anonymize=False, **given)
    refuse_typed(asked)
    flags = {"--definitions": definitions, "--json": as_json, "--verbose": verbose}
    first, *others = [flag for flag, is_set in flags.items() if is_set] or [""]
    if others:
        raise click.UsageError(f"{others[0]} has no effect with {first}: leave one of them out.")
    if definitions:
        from chatsquash.inspect.inspect import definitions as printed

        for text in printed(logs, asked):
            click.echo(f"{text}\n".encode(), nl=False)  # TOML is UTF-8, whatever the terminal is
    elif as_json:
        for told in run.inspect_as_json(logs, asked):
            click.echo(shown(told))
    else:
        for line in run.inspect(logs, asked, verbose=verbose):
            click.echo(colours.painted(line), color=colours.wanted())


def _formats() -> tuple[str, ...]:
    from chatsquash.translate import conversations  # which few commands need

    return conversations.known()


def _written_formats() -> tuple[str, ...]:
    from chatsquash.translate import conversations

    return conversations.writable()


@cli.command(
    cls=Command,
    short_help="Translate conversations from one format to another.",
    epilog="Example: chatsquash translate chat.json --to anthropic --output chats",
)
@argument("inputs", nargs=-1, required=True, metavar="IN...")
@option("--to", required=True, type=Name(_formats, _written_formats), metavar="FORMAT", help="Write this format.")
@option(
    "--from",
    "from_format",
    type=Name(_formats),
    metavar="FORMAT",
    help="Read all inputs as this format.  [default: told by each]",
)
@option(
    "--output",
    "-o",
    required=True,
    metavar="OUT",
    help="Write to this folder, or to one file if it ends in .jsonl; - prints.",
)
@option("--all-branches", is_flag=True, help="Also write the branches of a history that others continue.")
@option("--jsonl", is_flag=True, help="Write one file with a line for each conversation.")
@option("--lossless", is_flag=True, help="Write nothing if something would be lost.")
@option("--sendable", is_flag=True, help="Change conversations so that the service accepts them.")
@option(
    "--foreign-reasoning",
    type=click.Choice(["drop", "text"]),
    help="With --sendable: drop reasoning that the service did not sign, or write it as text.  [default: drop]",
)
@option("--anonymize/--no-anonymize", default=False, help="Replace e-mail addresses with pseudonyms.")
@privacy.replacing
@option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many processes translate at the same time.  [default: the cores]",
)
@option("--force", is_flag=True, help="Replace files that exist.")
@option("--quiet", "-q", is_flag=True, help="Print neither progress nor what was lost.")
def translate(inputs: tuple[str, ...], *, to: str, workers: int | None, quiet: bool, **given: Any) -> int:
    """Translate conversations (histories, records, sessions) from one format to another.

    IN are files, folders or globs, or - for standard input. Leaves out what it cannot read and what the format cannot
    hold, and says so. Exits with 3 when it could not read a line or a file.
    """
    from chatsquash.conversion.progress import Bar
    from chatsquash.core.platform import cores
    from chatsquash.translate.files import Translation, write_all

    private = privacy.private_of(given)
    wanted = Translation(to, workers=workers or cores(), private=private, **given)
    stdin, stdout = (getattr(stream, "buffer", None) for stream in (sys.stdin, sys.stdout))  # they may be closed
    with Bar(quiet=quiet) as bar:
        done = write_all(inputs, wanted, stdin, stdout, bar.observe)
    if not quiet:
        with _whoever_listens():
            click.echo("\n".join(done.lines()), err=True)
    return 0 if done.complete else LEFT_OUT


@cli.command(
    cls=Command,
    short_help="Copy datasets with placeholders for what is private.",
    epilog="Example: chatsquash redact data.jsonl --output clean --redact secrets",
)
@argument("inputs", nargs=-1, required=True, metavar="IN...")
@option(
    "--output",
    "-o",
    required=True,
    metavar="OUT",
    help="Write to this folder; or to a file, if IN is one and OUT has its suffix.",
)
@privacy.replacing
@options("write_known")
@option("--force", is_flag=True, help="Replace files that exist.")
@option("--quiet", "-q", is_flag=True, help="Print neither progress nor summary.")
def redact(inputs: tuple[str, ...], *, output: str, force: bool, quiet: bool, **given: Any) -> int:
    """Copy datasets, JSONL or Parquet, with placeholders for what is private.

    IN are files, folders or globs. Records keep their shape, their order and their files. Leaves out a record that it
    cannot search, says so, and exits with 3.
    """
    from chatsquash.conversion.progress import Bar
    from chatsquash.dataset import findings_text as report
    from chatsquash.results.redact.redact import Watch
    from chatsquash.results.redact.redact import redact as run

    wanted = privacy.private_of(given)
    with Bar(quiet=quiet) as bar:
        shown = report.Some(click.echo)
        watch = Watch(shown.say, bar.observe)
        done = run(inputs, output, wanted, watch, force=force)
        shown.finish()
    if not quiet:
        with _whoever_listens():
            click.echo("\n".join(done.lines()), err=True)
    return 0 if done.complete else LEFT_OUT


@cli.command(short_help="List the formats that chatsquash reads and writes.", epilog="Example: chatsquash formats")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
def formats(*, as_json: bool) -> None:
    """List the formats, documents and envelopes that chatsquash reads and writes."""
    from chatsquash.cli import formats as known
    from chatsquash.core.text import shown

    click.echo(shown(known.as_json(), indent=True) if as_json else known.as_text())
