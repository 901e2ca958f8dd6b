"""The documentation is true: its commands run, its examples convert, its tables name what there is.

Fenced blocks are told apart by what stands behind the fence:

- ``console``: lines that start with ``$ `` are commands, the lines after each are what it prints (``...`` stands for any
  lines, a command that ends with a backslash goes on in the next line); they run in a new folder that holds sample_logs
  and the files of the page up to there;
- ``json file=NAME`` and other languages with ``file=NAME``: such a file; JSON is written one value per line, others as
  they are;
- ``json before`` and ``json after OPTIONS``: a request's messages, or whole log lines, and what becomes of them;
- ``python``: runs in the same kind of folder; lines ``# -> text`` are what it prints.

The tutorial and the pages of docs/start and docs/how-to are run as a reader runs them: all of a page's blocks in order, in one
shell and one folder, which is empty at first. HOME is a folder that holds a clone of the project, ``~/chatsquash``, with
its sample_logs; what commands print of it is written ``/home/you``.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from chatsquash.cli import formats as known
from chatsquash.cli.main import cli
from chatsquash.formats import documents, formats
from chatsquash.reading.documents import Content
from chatsquash.reading.envelopes import envelopes
from chatsquash.reading.evidence import detect_shape
from chatsquash.reading.identify import document_content
from chatsquash.session import cleaning
from chatsquash.sources.open import open_file
from tests.conftest import cases

from . import generate, page_shell

ROOT = generate.ROOT
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
FOLLOWED = [page for page in PAGES if page.startswith(("docs/start/", "docs/how-to/", "docs/tutorial.md"))]
APART = [page for page in PAGES if page not in FOLLOWED]
GENERATED = generate.pages()

# They set up an environment and run the tests, this one too; .ci/run runs both.
NOT_RUN = ["make convert", "make test"]


class Block(NamedTuple):
    page: str
    line: int
    language: str
    words: str
    text: str


def blocks(page: str, text: str | None = None) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8") if text is None else text
    for found in re.finditer(r"^```([^\s`]*)[ \t]*([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2].strip(), found[3])


ALL = [block for page in PAGES for block in blocks(page)]


def of_language(language: str, pages: list[str] = PAGES) -> list:
    chosen = [block for block in ALL if block.language == language and block.page in pages]
    return [pytest.param(block, id=f"{block.page}:{block.line}") for block in chosen]


def json_values(text: str) -> list[str]:
    """The JSON values of a text, each as it is spelled but on one line."""
    found, at = [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        _, end = json.JSONDecoder().raw_decode(text, at)
        found.append(text[at:end].replace("\n", " "))
        at = end
    return found


def compact(spelled: str) -> str:
    return re.sub(r'("(?:[^"\\]|\\.)*")|\s+', r"\1", spelled)


def content(block: Block) -> str:
    return "".join(f"{value}\n" for value in json_values(block.text)) if block.language == "json" else block.text


@pytest.fixture
def folder(tmp_path):
    """A new folder with the sample logs, and a home of its own."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "home").mkdir()
    if (ROOT / "sample_logs").is_dir():
        shutil.copytree(ROOT / "sample_logs", work / "sample_logs")
    return work


def environment(folder: Path) -> dict[str, str]:
    """A new user's, with the user's key aside, and the commands of this environment first."""
    ours = ("CHATSQUASH_ANONYMIZE_KEY_FILE", "TMPDIR", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
    return {
        **{name: os.environ[name] for name in ours if name in os.environ},
        "HOME": str(folder.parent / "home"),
        "LC_ALL": "C",
        "PYTHONUTF8": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
    )
    shown = done.stdout.decode()
    assert done.returncode == 0, f"exit code {done.returncode} of {command[-1]}\n{shown}"
    return shown


def exchanges(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines it is to print."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        else:
            assert found, f"output before the first command: {line}"
            found[-1][1].append(line)
    return found


def normalised(line: str) -> str:
    """Without what differs from run to run: seconds and megabytes a second."""
    line = re.sub(r"[\d,.]+ s (for [\d,.]+ \w+)( \([\d,]+ MB/s\))?$", r"0.00 s \1", line)
    return re.sub(r'"seconds": ?[\d.e-]+', '"seconds": 0.0', line)


def shows(expected: list[str], lines: list[str]) -> bool:
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(normalised(line)) + r"\n" for line in map(str.rstrip, expected)
    )
    return re.fullmatch(pattern, "".join(f"{normalised(line.rstrip())}\n" for line in lines)) is not None


# The pages as they stand


@pytest.mark.parametrize("page", sorted(GENERATED))
def test_generated_pages_are_what_the_code_says(page):
    written = (ROOT / page).read_text(encoding="utf-8")
    made = GENERATED[page]
    if f"by click {generate.click_version()}." not in written:  # another click formats help texts otherwise
        hidden = re.compile(r"(by click )[\d.]+|^```text\nUsage.*?^```$", re.MULTILINE | re.DOTALL)
        written, made = hidden.sub(r"\1", written), hidden.sub(r"\1", made)
    assert written == made, "write it anew with: make docs"


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_are_there(page):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("block", of_language("json"))
def test_json_examples_parse(block):
    assert json_values(block.text)


def test_blocks_are_of_languages_that_are_tested_or_need_no_test():
    assert {block.language for block in ALL} <= {"console", "json", "python", "sh", "text", "toml", "yaml"}


def test_every_page_of_docs_is_linked_from_the_readme_or_an_index():
    linked = set()
    for index in (page for page in PAGES if page == "README.md" or page.endswith("/index.md")):
        text = (ROOT / index).read_text(encoding="utf-8")
        links = (os.path.join(os.path.dirname(index), target) for target in re.findall(r"\]\(([^)\s#]+)", text))
        linked |= {index, *map(os.path.normpath, links)}
    assert [page for page in PAGES if page.startswith("docs/") and page not in linked] == []


# What the pages show


def test_only_the_two_commands_of_the_readme_are_not_run():
    commands = [command for block in ALL if block.language == "console" for command, _ in exchanges(block.text)]
    assert [command for command in commands if command.startswith("make")] == NOT_RUN
    first = next(block for block in ALL if block.page == "README.md" and block.language == "console")
    assert [command for command, _ in exchanges(first.text)] == NOT_RUN


MARKER = "== next command =="


# Six pages that are followed, and two pages with five blocks.
AS_PROCESSES = [
    "README.md",
    "docs/how-to/own-format.md",
    "docs/index.md",
    "docs/start/claude-code.md",
    "docs/start/codex.md",
    "docs/start/cursor.md",
    "docs/start/gemini-cli.md",
    "docs/tutorial.md",
]
"""Pages whose commands are processes of their own. On all others, ``chatsquash`` runs in the process of the test."""


def test_eleven_pages_and_blocks_run_real_processes():
    assert len(of_language("console", [each for each in AS_PROCESSES if each in APART])) == 5
    assert len([each for each in AS_PROCESSES if each in FOLLOWED]) == 6


INSTALL = """\
export PYTHONPATH="$HOME/packages:$PYTHONPATH"
pip() { python -m pip "$@" --quiet --no-index --no-deps --no-build-isolation --target "$HOME/packages"; }
"""
"""What packages that a page builds are installed by: without a network, and not into this environment."""


def compare(parts: list[tuple[str, list[str]]], folder: Path, page: str = "") -> None:
    """Run commands in one shell, and compare what each prints with what the page shows."""
    script = f"set -e\n{INSTALL if page in AS_PROCESSES else ''}" + "".join(
        f"{command}\nprintf '%s\\n' '{MARKER}'\n" for command, _ in parts
    )
    if page in AS_PROCESSES:
        printed = run(["bash", "-c", script], folder)
    else:
        code, printed = page_shell.run(script, folder, environment(folder), folder.parent / "calls")
        assert code == 0, f"exit code {code} of {script}\n{printed}"
    printed = printed.replace(str(folder.parent / "home"), "/home/you")
    for (command, expected), shown in zip(parts, printed.split(f"{MARKER}\n"), strict=False):
        assert shows(expected, shown.splitlines()), f"$ {command}\n{shown}"


@pytest.mark.parametrize("block", of_language("console", APART))
def test_console_blocks_print_what_they_show(block, folder):
    parts = [part for part in exchanges(block.text) if part[0] not in NOT_RUN]
    for file in ALL:
        if file.page == block.page and file.line < block.line and file.words.startswith("file="):
            path = folder / file.words.removeprefix("file=")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content(file), encoding="utf-8")
    compare(parts, folder, block.page)


def steps(block: Block, held: Path) -> list[tuple[str, list[str]]]:
    """The commands that do what a block of a followed page says, each with the lines it is to print."""
    if block.language == "console":
        return exchanges(block.text)
    held.write_text(content(block), encoding="utf-8")
    if block.words.startswith("file="):
        name = block.words.removeprefix("file=")
        return [(f'mkdir -p "$(dirname {name})" && cp {held} {name}', [])]
    if block.language == "python":
        return [(f"{sys.executable} - < {held}", re.findall(r"# -> (.*)$", block.text, re.MULTILINE))]
    return []


def follow(page: list[Block], folder: Path) -> None:
    """Do what a page says, block by block, in an empty folder below ``folder``."""
    for name in ("work", "home", "blocks"):
        (folder / name).mkdir()
    shutil.copytree(ROOT / "sample_logs", folder / "home" / "chatsquash" / "sample_logs")
    shutil.copytree(ROOT / "docs/recipes", folder / "home" / "chatsquash" / "docs/recipes")
    parts = [part for block in page for part in steps(block, folder / "blocks" / str(block.line))]
    compare(parts, folder / "work", page[0].page if page else "")


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_that_is_followed_from_an_empty_folder_prints_what_it_shows(page, tmp_path):
    for package in ("pyfastcdc", "nacl") if page == "docs/how-to/archive.md" else ():
        pytest.importorskip(package)
    follow([block for block in ALL if block.page == page], tmp_path)


@pytest.mark.parametrize(
    "block", [each for each in of_language("python", APART) if "file=" not in each.values[0].words]
)
def test_python_blocks_run_and_print_what_they_show(block, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    exec(compile(block.text, block.page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# -> (.*)$", block.text, re.MULTILINE)


BEFORE_AND_AFTER = [
    pytest.param(block, after, id=f"{block.page}:{block.line}")
    for block, after in zip(ALL, [*ALL[1:], None], strict=True)
    if block.words == "before"
]


@pytest.mark.parametrize("before, after", BEFORE_AND_AFTER)
def test_what_stands_before_becomes_what_stands_after(before, after, tmp_path):
    assert after.words.split()[0] == "after"
    logged, (wanted,) = json_values(before.text), json_values(after.text)
    if logged[0].startswith("["):
        logged = [f'{{"timestamp": 1, "session_id": "s", "request": {{"messages": {logged[0]}}}}}']
    log, key = tmp_path / "session.jsonl", tmp_path / "key"
    log.write_text("\n".join(logged), encoding="utf-8")
    key.write_text("the key of the examples in docs/\n", encoding="utf-8")
    arguments = [str(log), "-qo", str(tmp_path / "out"), "--single-file", "--anonymize-key-file", str(key)]
    ran = CliRunner().invoke(cli, ["convert", *arguments, *after.words.split()[1:]])
    assert ran.exception is None, ran.output
    record = (tmp_path / "out" / "conversations.jsonl").read_text(encoding="utf-8").removesuffix("\n")
    if wanted.startswith("["):
        record = record.removeprefix('{"messages":').rpartition(',"tools":')[0]
    assert record == compact(wanted)


def test_every_before_has_an_after():
    kinds = [block.words.split()[0] for block in ALL if block.words.startswith(("before", "after"))]
    assert kinds == ["before", "after"] * (len(kinds) // 2)
    assert kinds


# The pages of the sources

HEADINGS = ["Where the files are", "Convert them", "What comes out", "What is missing"]
SOURCES = [page for page in PAGES if page.startswith("docs/start/") and page != "docs/start/index.md"]


@pytest.mark.parametrize("page", SOURCES)
def test_a_page_of_a_source_follows_the_template(page):
    parts = re.split(r"^## (.*)$", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert parts[1::2] == HEADINGS
    assert all(part.strip() for part in parts[0::2])
    where, convert, out, _ = ([*blocks(page, part)] for part in parts[2::2])
    assert any(command.startswith("chatsquash convert ") for block in convert for command, _ in exchanges(block.text))
    assert any(re.search(r"^sessions +\d", block.text, re.MULTILINE) for block in convert)
    assert any(command for block in out for command, _ in exchanges(block.text))
    assert [block for block in where if block.language == "console"] == []


def rows(page: str) -> list[tuple[str, str]]:
    """The rows of a page's tables that link to pages of sources: the page, and the rest of the row."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^\| \[[^]]+\]\(([^)]+)\) (\|.*)$", text, re.MULTILINE)
    return [(os.path.normpath(os.path.join(os.path.dirname(page), target)), rest) for target, rest in found]


def test_every_source_has_a_page_in_the_tables():
    assert sorted(target for target, _ in rows("docs/start/index.md")) == SOURCES
    lines = re.findall(r"^\| .*$", (ROOT / "docs/sources.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"\]\((start/[^)#]+)\)", "".join(lines))) == [
        page.removeprefix("docs/") for page in SOURCES
    ]


def test_all_that_is_read_has_a_page():
    named = {name for _, rest in rows("docs/start/index.md") for name in re.findall(r"`([^`]+)`", rest)}
    assert named == {*documents.names(), *formats(), *(envelope.NAME for envelope in envelopes())}


def test_every_sample_is_converted_on_a_page_of_its_source():
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in SOURCES)
    folders = {name.partition("/")[0] for name in samples()} - {"documents"}
    assert [name for name in sorted(folders) if not re.search(rf"sample_logs/{name}\b", pages)] == []


# The sample logs


IN_GOLDEN_CASES = {"antigravity", "batch", "open_webui", "openai_agents", "sts"}
"""Documents that only golden cases show, so that what pages count in the sample logs stays."""


def samples() -> dict[str, Path]:
    folder = ROOT / "sample_logs"
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "README.md")
    return {path.relative_to(folder).as_posix(): path for path in files}


def sample_documents() -> list[Content]:
    found = []
    for path in samples().values():
        with open_file(path) as file:
            found.append(document_content(file))
    return [held for held in found if held]


def test_the_sample_logs_show_every_format_and_every_envelope():
    shapes = []
    for path in samples().values():
        with open_file(path) as file:
            shapes += [] if document_content(file) else [detect_shape(file)[0]]
    assert {shape.request for shape in shapes} == set(formats()) - {"gemini_interactions"}
    assert {shape.envelope.NAME for shape in shapes} == {envelope.NAME for envelope in envelopes()}


def test_the_sample_logs_show_every_document():
    assert {held.format for held in sample_documents()} == set(documents.names()) - IN_GOLDEN_CASES


def test_the_documents_that_are_said_to_hold_tools_do():
    told = [(held.format, any(each.tools for each in held.conversations())) for held in sample_documents()]
    shown = set(documents.names()) - IN_GOLDEN_CASES
    assert {name for name, has_tools in told if has_tools} == set(filter(documents.has_tools, shown))


def test_all_formats_of_requests_have_streams_and_tools_and_all_but_two_are_written():
    assert all(each.streams and each.tools for each in known.exchanges())
    logged_only = ["gemini_interactions", "bedrock"]
    assert [each.name for each in known.exchanges() if not each.writes] == logged_only


def test_a_document_has_no_streams_and_only_those_said_to_be_written_are():
    written = {name for name in documents.names() if documents.get_format(name).dump}
    assert {each.name for each in known.document_formats() if each.writes} == written
    assert not any(each.streams for each in known.document_formats())


def test_the_command_shows_every_format_with_what_it_can():
    rows = {line.split()[0]: line.split()[1:5] for line in known.tables_text().splitlines() if line}
    assert rows["document"][:3] == ["reads", "writes", "streams"]
    assert rows["gemini"] == ["yes", "yes", "yes", "yes"]
    assert rows["oumi"] == ["yes", "yes", "-", "yes"]
    assert rows["codex"] == ["yes", "-", "-", "-"]
    assert rows.keys() >= {*formats(), *documents.names(), "envelope"}


def test_every_sample_log_is_described():
    page = (ROOT / "sample_logs" / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)) == list(samples())


# What the pages name


def handwritten(*, in_generated: bool = False) -> str:
    """Return the text of the pages without their generated regions.

    Of the pages with such regions only that of the command line is included, unless ``in_generated`` includes all: tables
    name the options of other programs, and so does the page of recipes.
    """
    made = re.compile(r"^<!-- generated: .*?^<!-- /generated -->$", re.MULTILINE | re.DOTALL)
    with_others = {*GENERATED, "docs/shards-recipes.md"} - {"docs/cli.md"}
    pages = [page for page in PAGES if in_generated or page not in with_others]
    return "\n".join(made.sub("", (ROOT / page).read_text(encoding="utf-8")) for page in pages)


PARAMS = [param for command in ("convert", "translate") for param in cli.commands[command].params]
OPTIONS = dict.fromkeys(name for param in PARAMS if isinstance(param, click.Option) for name in param.opts)


@pytest.mark.parametrize("option", [name for name in OPTIONS if name.startswith("--") and name != "--help"])
def test_every_option_of_convert_and_translate_is_explained(option):
    assert re.search(rf"{option}(?![\w-])", handwritten(in_generated=True))


def test_every_target_of_make_that_a_page_names_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`|\$ )make ([a-z-]+)", handwritten(), re.MULTILINE))
    assert named
    assert named - targets == set()


def test_every_option_that_a_page_names_exists():
    commands = cli.commands_with_subcommands.values()
    known = {name for command in commands for p in command.params for name in (*p.opts, *p.secondary_opts)}
    ours = re.sub(r"^```sh.*?^```$", "", handwritten(), flags=re.MULTILINE | re.DOTALL)  # they run others' programs
    named = set(re.findall(r"(?<![\w/-])--[a-z][a-z-]+(?![\w-])", ours))  # TRL's have underscores
    others = {
        "--spec",
        "--llm-history-file",
        "--include-body",
        "--additional-suffix",
        "--output-format",
        "--replay-user-messages",
        "--key",
    }  # of pipx, Aider, Helicone, split, Claude Code, docs/recipes/check_provenance.py
    assert named - known - others == {"--help", "--version"} & named


def table(page: str, heading: str) -> list[str]:
    """The first column of the table under a heading, as far as it is code; a cell may have several names."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.MULTILINE)[1]
    section = re.split(r"^#", section, maxsplit=1, flags=re.MULTILINE)[0]
    cells = re.findall(r"^\| (`[^`]+`(?:, `[^`]+`)*) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall("`([^`]+)`", cell)]


def claude_code_line(session: str, number: int, text: str) -> dict:
    """A line as recordings of Claude Code have them: prompts and replies take turns."""
    ids = {"sessionId": session, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
    if number % 2 == 0:
        return {**ids, "type": "user", "message": {"role": "user", "content": text}}
    message = {
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}],
    }
    return {**ids, "type": "assistant", "message": {"id": f"m{number}", **message}}


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """A run whose files have all fields that there are."""
    folder = tmp_path_factory.mktemp("converted")
    message, call = {"role": "user", "content": "Hi"}, {"id": "c", "function": {"name": "ls", "arguments": "{}"}}
    entry = {"request": {"messages": [message, {"role": "assistant", "tool_calls": [call]}], "tools": [call]}}
    response = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
    (folder / "a.jsonl").write_text(f"{json.dumps({**entry, 'response': response})}\n[1]\n")
    (folder / "notes.txt").write_text("notes\n")
    when = dict.fromkeys(("created_at", "updated_at"), "2026-05-08T10:00:00Z")
    score = {"id": "s", "name": "ok", "value": 1, "data_type": "NUMERIC", "trace_id": "t", **when}
    (folder / "scores.jsonl").write_text(json.dumps(score))
    (folder.parent / "labels.jsonl").write_text('{"id": "m1", "label": "good"}\n')
    turns = ["When is low tide?", "At three.", "And high tide?", "At nine."]
    for name, length in (("parent", 2), ("fork", 4)):  # the fork repeats a reply
        rows = [claude_code_line(name, number, text) for number, text in enumerate(turns[:length])]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ran = CliRunner().invoke(
        cli,
        [
            "convert",
            str(folder),
            "--output",
            str(folder / "out"),
            "--keep-rejected",
            "--trace-replies",
            "--json",
            "--no-anonymize",
            *("--loss", "weight", "--loss-labels", str(folder.parent / "labels.jsonl")),
        ],
    )
    assert ran.exit_code == 0, ran.output  # click's runner does not see what the command returns
    return folder / "out", json.loads(ran.stdout)


def lines(path: Path) -> list:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# Objects whose keys are codes, rules, suffixes: described in words.
OPEN = (
    "sessions.left_out", "sessions.filtered", "splits", "findings", "cleaned", "other_files",
    "replies.lost", "conversations.not_chosen", "loss", "loss_labels", "scores", "counts.samples", "samples", "counts.pairs", "pairs", "private", "models",
)  # fmt: skip


def paths(value: object, name: str = "") -> list[str]:
    """The fields of a JSON value: ``a.b`` inside objects, ``a[]`` for the items of a list."""
    if isinstance(value, dict) and not name.endswith(OPEN):
        return [path for key, member in value.items() for path in paths(member, f"{name}.{key}" if name else key)]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return list(dict.fromkeys(path for member in value for path in paths(member, f"{name}[]")))
    return [name]


@pytest.mark.parametrize("name", ["findings", "rejected", "replies", "sessions"])
def test_the_fields_of_reports_are_described(name, converted):
    written = lines(converted[0] / "reports" / f"{name}.jsonl")
    assert written
    for line in written:
        assert list(line) == table("docs/output.md", f"reports/{name}.jsonl")


def test_the_fields_of_run_json_are_described(converted):
    run = json.loads((converted[0] / "run.json").read_text(encoding="utf-8"))
    described = table("docs/output.md", "run.json")
    assert [path for path in paths(run) if path in described or not is_named_after_an_option(path)] == described


def is_named_after_an_option(path: str) -> bool:
    """Whether a field of run.json is an option of convert, spelled with underscores."""
    spelled = {name for param in cli.commands["convert"].params for name in (*param.opts, *param.secondary_opts)}
    return path.startswith("options.") and f"--{path.removeprefix('options.').replace('_', '-')}" in spelled


def test_the_fields_of_the_summary_are_described(converted):
    counts = [
        path.removeprefix("counts.") for path in table("docs/output.md", "run.json") if path.startswith("counts.")
    ]
    assert paths(converted[1]) == [*counts, *table("docs/output.md", "The summary")]


def test_the_fields_of_a_record_are_described(converted):
    records = lines(next(converted[0].glob("*.jsonl")))
    assert records
    for record in records:
        assert list(record) == table("docs/output.md", "Records")


@pytest.mark.parametrize("name", ["redactions", "tool-usage", "tools"])
def test_the_columns_of_tables_are_described(name, converted):
    header = (converted[0] / "reports" / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.split(",") == table("docs/output.md", f"reports/{name}.csv")


def test_every_file_is_described(converted):
    written = {path.relative_to(converted[0]).as_posix() for path in converted[0].rglob("*") if path.is_file()}
    described = set(table("docs/output.md", "Files"))
    written = {re.sub("/journal/.*", "/journal/*", name) for name in written}  # which are named after processes
    assert {name for name in written if not name.endswith("undated.jsonl")} == described - {"*.jsonl"}


def test_every_cleaning_rule_has_the_name_under_which_it_is_counted():
    page = (ROOT / "docs/cleanup.md").read_text(encoding="utf-8")
    assert [rule for rule in cleaning.rule_names() if f"`{rule}`" not in page] == []


# The tests themselves


@cases(
    "sentence, expected, printed, same",
    ("equal lines", ["a", "b"], ["a", "b"], True),
    ("a line more", ["a"], ["a", "b"], False),
    ("a line less", ["a", "b"], ["a"], False),
    ("dots stand for no line", ["a", "...", "b"], ["a", "b"], True),
    ("dots stand for several lines", ["...", "b"], ["a", "", "b"], True),
    ("what follows the dots counts", ["...", "b"], ["a"], False),
    ("dots within a line stand for themselves", ["a ... b"], ["a x b"], False),
    ("seconds differ from run to run", ["time  0.02 s for 0.1 MB"], ["time  1.20 s for 0.1 MB (1,234 MB/s)"], True),
    ("sizes do not", ["time  0.02 s for 0.1 MB"], ["time  0.02 s for 0.2 MB"], False),
    ("seconds in JSON", ['"seconds": 0.1'], ['"seconds": 12'], True),
)
def test_output_is_compared_line_by_line(sentence, expected, printed, same):
    assert shows(expected, printed) is same, sentence


FOLLOWED_TEXT = """
```text file=a/names.txt
Ada
```

```console
$ folder=a
$ ls ~/chatsquash
docs
sample_logs
```

```python
print(open("a/names.txt").read().strip())
# -> Ada
```

```console
$ cat \\
  $folder/names.txt
Ada
$ realpath ~
/home/you
```
"""


def test_the_blocks_of_a_page_are_followed_in_one_folder(tmp_path):
    follow(list(blocks("p", FOLLOWED_TEXT)), tmp_path)
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a"]


@pytest.mark.parametrize("shown", ["# -> Ada", "/home/you", "sample_logs"])
def test_a_page_that_shows_something_else_fails(shown, tmp_path):
    assert shown in FOLLOWED_TEXT
    with pytest.raises(AssertionError):
        follow(list(blocks("p", FOLLOWED_TEXT.replace(shown, "# -> other"))), tmp_path)


def test_blocks_are_found_by_their_fences():
    text = "a\n\n```json before\n[1,\n 2]\n```\n\n```console\n$ x\n```\n"
    assert [block[1:] for block in blocks("p", text)] == [
        (3, "json", "before", "[1,\n 2]\n"),
        (8, "console", "", "$ x\n"),
    ]


def test_values_keep_their_spelling_on_one_line():
    assert json_values('{"a":\n 1.0}\n[2]\n') == ['{"a":  1.0}', "[2]"]
    assert compact('{"a b": "c \\" d",\n 1.0}') == '{"a b":"c \\" d",1.0}'
