"""The pages of docs/ that are made from the code: ``python -m tests.generate``, or ``make docs``, writes them anew."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click

from pipeline.checks import table
from pipeline.cli import cli

ROOT = Path(__file__).parents[1]
COLUMNS = 100

_INTRODUCTION = """\
# Command line

`chatsquash` has three commands; `python -m pipeline` is the same. This page is made from the code by `make docs`.

- [`convert`](#chatsquash-convert): session logs in, a dataset out.
- [`check`](#chatsquash-check): the record checks on datasets that exist already.
- [`inspect`](#chatsquash-inspect): a session log entry by entry.

Standard output is for results: the summary of `convert --json`, the findings of `check`, the tables of `inspect`.
The summary for people, progress, role traces and errors go to standard error. Progress is shown on a terminal only.
Colour is used on a terminal only, and not where `NO_COLOR` is set. A closed pipe ends the command without a message;
how a finished conversion ended stays its exit code.
"""

_AFTER = {
    "convert": """\
`LOGS` are folders, files or globs; [conversion.md](conversion.md#which-files-are-read) says which files are read. `DIR`
is described in [output.md](output.md). Of an option given more than once the last one counts; `--include` and
`--exclude` add up. `--workers` changes nothing in the output; small inputs are converted in one process.
""",
    "check": """\
`DATASETS` are files, or folders whose `*.jsonl` and `*.ndjson` files are taken; folders in them are not looked into.
Every line is a record. Whether its calls are native or written in the text is recognised record by record. The findings
are printed as in `reports/integrity-report.txt`, with `--json` as in `reports/findings.jsonl`; [checks.md](checks.md)
lists them. `session` is the name of the file without its suffix. A record is checked as it stands: addresses are
neither looked for nor replaced.

```console
$ printf '%s\\n' '{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "ls"}]}' '[1]' > data.jsonl
$ chatsquash check data.jsonl || echo "exit code $?"
WARNING	session=data	input=data.jsonl:1	[tool-parameters] tool 'ls' has no parameters: add a JSON schema, an empty one if it takes none
ERROR	session=data	input=data.jsonl:2	[bad-record] not a record, the line is a list: a record is {"messages": [...], "tools": [...]}
exit code 3
```
""",
    "inspect": """\
`LOG` is found as the `LOGS` of `convert` are. One row per line of the log: its time (UTC), how many of its messages are
taken over from the line before and how many are added, the number of tools, kind and size of the reply, what became of
the entry, and the roles of the added messages. The record's size and the findings follow. `Ac` is an assistant message
with text, `At` one with calls, `Act` one with both, `A` one with neither; `tool*2` are two messages of that role.

With this log as `tail.jsonl`, whose last entry asks for a title:

```json file=tail.jsonl
{"timestamp": "2026-01-13T10:00:00Z", "session_id": "s1",
 "request": {"messages": [{"role": "user", "content": "Hi"}]},
 "response": {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}}
{"timestamp": "2026-01-13T10:00:09Z", "session_id": "s1",
 "request": {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"},
                          {"role": "user", "content": "Bye"}]},
 "response": {"choices": [{"message": {"role": "assistant", "content": "Goodbye"}}]}}
{"timestamp": "2026-01-13T10:00:10Z", "session_id": "s1",
 "request": {"messages": [{"role": "user", "content": "A title for this?"}]},
 "response": {"choices": [{"message": {"role": "assistant", "content": "A greeting"}}]}}
```

```console
$ chatsquash inspect --verbose tail.jsonl
tail.jsonl: session s1
line  time                     kept  added  tools  reply    outcome     roles added
1     2026-01-13 10:00:00.000  0     1      0      Ac 38 B  superseded  user
    user: Hi
2     2026-01-13 10:00:09.000  1     2      0      Ac 40 B  selected    Ac user
    assistant: Hello
    user: Bye
3     2026-01-13 10:00:10.000  0     1      0      Ac 43 B  cut         user
    user: A title for this?
record: 168 bytes
WARNING	session=s1	input=tail.jsonl:2	[short-tail] line 3 has 1 message, line 2 has 3 and is converted: see whether the conversation went on after it
WARNING	session=s1	input=tail.jsonl:2	[no-tools] the record defines no tools: if the session had some, the logger leaves request.tools out
```

| outcome | the entry |
|---|---|
| `selected` | became the record, or would have if the session were not left out |
| `superseded` | came before it |
| `cut` | came after it and has fewer messages |
| `cleaned` | was dropped by the cleaning rules |
| `bad-line`, `bad-entry` | could not be read; the reply column has the line's length |
""",
}

_VARIABLES = """\
## Variables

Every option but `--help` and `--version` can be set by a variable; an option on the command line wins. Options of the
same name share one variable. A variable that is empty counts as not set. Of `--single-file` and `--group-by`, which say
the same thing, the one on the command line wins over the variable of the other; of two variables, that of
`--single-file`.

"""

_VARIABLE_NOTES = """\
Yes is `1`, `true`, `t`, `yes`, `y` or `on`; no is `0`, `false`, `f`, `no`, `n` or `off`, in any case. Several globs are
separated by spaces.

```console
$ CHATSQUASH_GROUP_BY=none CHATSQUASH_QUIET=1 chatsquash convert sample_logs
$ ls out
conversations.jsonl
reports
run.json
```
"""

_REST = """\
## Exit codes

| code | `convert` | `check` | `inspect` |
|---|---|---|---|
| 0 | every session was written and every line could be read | no finding is an error | done |
| 1 | stopped by `--strict` or `--on-invalid abort`, or by a failure; no new output | output was closed early | \
output was closed early |
| 2 | wrong options, nothing to read, or the output folder is refused | wrong options, or a file that cannot be read | \
wrong options, or a file that cannot be read |
| 3 | finished, but a session or a line was left out | a finding is an error | |
| 130 | interrupted; no new output | interrupted | interrupted |
| 143 | terminated; no new output | terminated | terminated |

Findings alone do not change the exit code of `convert`: a record with errors in `reports/integrity-report.txt` is
written and counts as written.

## Shell completion

Commands, options and the choices of an option are completed; paths are not. Put one line into your shell's start file,
then open a new shell.

Bash 4.4 or newer, in `~/.bashrc`:

```sh
eval "$(_CHATSQUASH_COMPLETE=bash_source chatsquash)"
```

Zsh, in `~/.zshrc`, after `compinit`:

```sh
eval "$(_CHATSQUASH_COMPLETE=zsh_source chatsquash)"
```

Fish, in `~/.config/fish/completions/chatsquash.fish`:

```sh
_CHATSQUASH_COMPLETE=fish_source chatsquash | source
```

Each runs the command once per shell. To avoid that, write the output to a file once and source the file:
`_CHATSQUASH_COMPLETE=bash_source chatsquash > ~/.chatsquash-complete.bash`.
"""


def pages() -> dict[str, str]:
    """Every generated page, by its path below the project."""
    return {"docs/checks.md": table(), "docs/cli.md": command_line()}


def command_line() -> str:
    """The text of ``docs/cli.md``."""
    made_with = f"<!-- The help texts are formatted by click {click_version()}. -->\n"
    helps = [_help(), *map(_help, _AFTER)]
    return "\n".join([_INTRODUCTION, made_with, *helps, _VARIABLES + _variables(), _VARIABLE_NOTES, _REST])


def click_version() -> str:
    """Major and minor version of click, which decides how help texts are formatted."""
    return ".".join(version("click").split(".")[:2])


def _help(command: str = "") -> str:
    """What ``COLUMNS=100 chatsquash COMMAND --help`` prints, and what we add."""
    context = cli.make_context("chatsquash", [], resilient_parsing=True, terminal_width=COLUMNS - 2)
    if command:
        context = _command(command).make_context(command, [], parent=context, resilient_parsing=True)
    after = f"\n{_AFTER[command]}" if command else ""
    return f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n{after}"


def _variables() -> str:
    rows: dict[str, tuple[list[str], str, list[str]]] = {}
    for command in _AFTER:
        for option in _options(command):
            names = [*option.opts, *option.secondary_opts]
            shown, _, commands = rows.setdefault(str(option.envvar), (names, _values(option), []))
            assert shown == names, f"{option.envvar} sets two options: {shown}, {names}"
            commands.append(command)
    lines = ["| option | variable | value | commands |", "|---|---|---|---|"]
    for variable, (names, values, commands) in rows.items():
        spelled = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {spelled} | `{variable}` | {values} | {', '.join(commands)} |")
    return "\n".join(lines) + "\n"


def _command(name: str) -> click.Command:
    assert isinstance(cli, click.Group)
    return cli.commands[name]


def _options(command: str) -> Iterator[click.Option]:
    return (param for param in _command(command).params if isinstance(param, click.Option))


def _values(option: click.Option) -> str:
    if option.is_flag:
        return "yes or no"
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    return f"{option.metavar} ..." if option.multiple else str(option.metavar)


def main() -> None:
    """Write the generated pages."""
    for path, text in pages().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
