"""Generated pages of docs/: ``python -m tests.generate``, or ``make docs``, writes them."""

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import click
import msgspec

from chatsquash.cli import click_options
from chatsquash.cli.formats import document_formats, exchanges
from chatsquash.cli.main import cli
from chatsquash.formats import documents, formats
from chatsquash.reading.envelopes import envelopes
from tests import messages, picture
from tests.agents import table as agents
from tests.checks import page as checks
from tests.formats import round_trip
from tests.records import page as presets
from tests.redact import page as redaction
from tests.train import results as trainers

ROOT = Path(__file__).parents[1]
COLUMNS = 100

_OF_ALL = {"--help", "--profile", "--show-config"}
"""Options of nearly all commands, which the page describes once."""
_REGION = re.compile(r"<!-- generated: (\S+) -->\n.*?^<!-- /generated -->", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the text of every page with generated regions, by its path in the project."""
    return {
        "docs/checks.md": with_regions("docs/checks.md", checks.regions()),
        "docs/cli.md": with_regions("docs/cli.md", command_line()),
        "docs/formats.md": with_regions("docs/formats.md", format_tables()),
        "docs/presets.md": with_regions("docs/presets.md", presets.regions()),
        "docs/redaction.md": with_regions("docs/redaction.md", redaction.regions(), redaction.BENCH),
        "docs/sources.md": with_regions("docs/sources.md", agents.regions()),
        "docs/training.md": with_regions("docs/training.md", trainers.regions()),
        "pipeline/chatsquash/formats/documents.json": table_of_documents(),
        "pipeline/chatsquash/redaction/rules/builtin.json": redaction.table(),
        "tests/messages.txt": messages.listing(),
    }


def with_regions(page: str, regions: dict[str, str], unmanaged: tuple[str, ...] = ()) -> str:
    """Return the text of a page with its regions replaced; each has to be in the page exactly once.

    Regions that are ``unmanaged`` are written by other commands and stay as they are.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    names, expected = _REGION.findall(text), [*regions, *unmanaged]
    assert sorted(names) == sorted(expected), f"{page} has the regions {names}, expected are {expected}"

    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        if name in unmanaged:
            return match[0]
        return f"<!-- generated: {name} -->\n\n{regions[name]}\n\n<!-- /generated -->"

    return _REGION.sub(replacement, text)


def table_of_documents() -> str:
    """Return the table of the built-in document formats as JSON, one format per line."""
    forms = [documents.get_format(name) for name in documents.names()]
    entries = {form.module: documents.entry_of(form) for form in forms if form.module.startswith("chatsquash.")}
    lines = [f'"{module}": {msgspec.json.encode(entry).decode()}' for module, entry in entries.items()]
    return "{" + ",\n".join(lines) + "}\n"


def format_tables() -> dict[str, str]:
    """Return the regions of ``docs/formats.md``."""
    return {
        "formats": _formats(),
        "documents": _documents(),
        "marks": _marks(),
        "envelopes": _envelopes(),
        "kinds": round_trip.table(),
    }


def _formats() -> str:
    rows = [
        (
            _code(each.name),
            _ticked(each.what.partition(": ")[0]),
            _code(form.TURNS),
            _codes(form.SYSTEM),
            _codes(form.TOOLS),
        )
        for each, form in zip(exchanges(), formats().values(), strict=True)
    ]
    return _rows(("format", "description", "turns", "system prompt", "tools"), rows)


def _documents() -> str:
    documents = [*document_formats()]
    writable = ", ".join(_code(each.name) for each in documents if each.writes)
    with_tools = ", ".join(_code(each.name) for each in documents if each.tools)
    return f"- Also written: {writable}.\n- With tool definitions: {with_tools}."


_EVIDENCE = {3: "stream", 4: "response", 6: "request", 7: "turns", 8: "other"}
"""The heading of the evidence of each rank."""


def _marks() -> str:
    """Return the evidence for each format by rank; the ranks that decide first come first."""
    rows = []
    for name, form in formats().items():
        marks = [*form.marks.event, *form.marks.response, *form.marks.request]
        cells = ("; ".join(dict.fromkeys(mark.what for mark in marks if mark.rank == rank)) for rank in _EVIDENCE)
        rows.append((_code(name), *cells))
        assert {mark.rank for mark in marks} <= _EVIDENCE.keys()
    return _rows(("format", *_EVIDENCE.values()), rows)


def _envelopes() -> str:
    rows = [(each.NAME, each.WHAT, "`id`" if each.MIXES else "`file`") for each in envelopes()]
    return _rows(("envelope", "a line", "`--sessions-by`"), rows)


def _ticked(what: str) -> str:
    """Return a sentence of a docstring as Markdown."""
    return what.replace("``", "`")


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(map(_code, names)) or "among the turns"


def _code(text: str) -> str:
    return f"`{text}`"


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def command_line() -> dict[str, str]:
    """Return the regions of ``docs/cli.md``."""
    return {
        "made-with": f"Help texts as formatted by click {click_version()}.",
        **{f"help-{name.replace(' ', '-')}": _help(name) for name in cli.commands_with_subcommands},
    }


def click_version() -> str:
    """Return the major and minor version of click, on which the layout of help texts depends."""
    return ".".join(version("click").split(".")[:2])


def _help(command: str) -> str:
    """Return the output of ``COLUMNS=100 chatsquash COMMAND --help-all``.

    Options that ``convert`` or the command of a subcommand has, too, are only listed by name below the block.
    """
    context, reference = _context(command), _records(_context("convert"))
    if command == "convert":
        return _block(context)
    duplicates = _repeated(context, reference)
    parent = command.rpartition(" ")[0]
    of_parent = _repeated(context, _records(_context(parent))) if parent else []
    with _hidden(context, [*duplicates, *of_parent]):
        block = _block(context)
    others = [name for name in of_parent if name not in duplicates]
    sentences = [_list_shared(others, parent), _list_repeated(duplicates, [*reference])]
    return "\n\n".join(filter(None, [block, *sentences]))


def _repeated(context: click.Context, reference: dict[str, tuple[str, str]]) -> list[str]:
    """Return the names of a command's options that another command has with the same help."""
    return [name for name, record in _records(context).items() if record in reference.values()]


def _context(command: str = "") -> click.Context:
    context = cli.make_context("chatsquash", [], resilient_parsing=True, terminal_width=COLUMNS - 2)
    if command:
        named = cli.commands_with_subcommands[command]
        context = named.make_context(command, [], parent=context, resilient_parsing=True)
    context.meta[click_options.SHOWS_ALL] = True
    return context


def _block(context: click.Context) -> str:
    return f"```text\n{context.get_help()}\n```"


def _records(context: click.Context) -> dict[str, tuple[str, str]]:
    """Return the help records of a command's options, by the names of the options."""
    options = (param for param in context.command.get_params(context) if isinstance(param, click.Option))
    return {max(each.opts, key=len): record for each in options if (record := each.get_help_record(context))}


@contextmanager
def _hidden(context: click.Context, names: list[str]) -> Iterator[None]:
    """Hide options of a command from its help."""
    params = context.command.get_params(context)
    options = [each for each in params if isinstance(each, click.Option) and not set(each.opts).isdisjoint(names)]
    for option in options:
        option.hidden = True
    try:
        yield
    finally:
        for option in options:
            option.hidden = False


def _list_repeated(duplicates: list[str], reference: list[str]) -> str:
    """Return the sentence on the options that a command shares with convert; empty if all commands have them."""
    special = [name for name in duplicates if name not in _OF_ALL]
    others = [name for name in reference if name not in duplicates]
    if len(special) > len(others):
        return _wrap(f"Also takes all options of `convert` except {_listing(others)}.")
    return _list_shared(special, "convert")


def _list_shared(names: list[str], command: str) -> str:
    return _wrap(f"Also takes, like `{command}`: {_listing(names)}.") if names else ""


def _wrap(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _listing(names: list[str]) -> str:
    return ", ".join(map(_code, names))


def main() -> None:
    """Write the generated pages and the picture of README.md."""
    for path, text in pages().items():
        (ROOT / path).write_text(text, encoding="utf-8")
    picture.write()


if __name__ == "__main__":
    main()
