"""The pages of docs/ that are made from the code: ``python -m tests.generate``, or ``make docs``, writes them anew."""

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click

from chatsquash.cli import cli
from chatsquash.formats import PLAIN, PLAIN_RANK, formats
from chatsquash.formats.base import Mark, Marks
from chatsquash.option_rules import PAIRS
from chatsquash.read.envelopes import envelopes
from chatsquash.run.formats import exchanges, held
from tests.checks import page as checks
from tests.formats import round_trip
from tests.records import page as presets

ROOT = Path(__file__).parents[1]
COLUMNS = 100

_INTRODUCTION = """\
# Command line

`chatsquash` has seven commands; `python -m chatsquash` is the same. This page is made from the code by `make docs`.

- [`convert`](#chatsquash-convert): session logs in, a dataset out.
- [`check`](#chatsquash-check): the record checks on datasets that exist already, and a chat template tried on them.
- [`stats`](#chatsquash-stats): what is in datasets, counted.
- [`verify`](#chatsquash-verify): an output folder beside its `run.json`.
- [`inspect`](#chatsquash-inspect): a session log entry by entry.
- [`translate`](#chatsquash-translate): whole conversations from one format to another.
- [`formats`](#chatsquash-formats): the formats that are read and written, and the envelopes.

Standard output is for results: the summary of `convert --json`, the findings of `check` and its renderings, the tables
of `stats`, `inspect` and `formats`, the differences of `verify`, the conversations of `translate --output -`.
The summaries for people, what `translate` loses, progress, role traces and errors go to standard error. Progress is shown
on a terminal only.
Colour is used on a terminal only, and not where `NO_COLOR` is set. A closed pipe ends the command without a message;
how a finished conversion ended stays its exit code.
"""

_AFTER = {
    "convert": """\
`LOGS` are folders, files or globs; [conversion.md](conversion.md#which-files-are-read) says which files are read. `DIR`
is described in [output.md](output.md). Of an option given more than once the last one counts; `--include`,
`--exclude`, `--drop`, `--only-model` and `--flag-phrase` add up. `--workers` changes nothing in the output; small inputs are converted in
one process. `FORMAT` is a name from [formats.md](formats.md), which also says what `--sessions-by` and `--reasoning` do;
[presets.md](presets.md) says what `--preset` and the options behind it do, [dataset.md](dataset.md) what those on
dataset folders and filters do, and [reliability.md](reliability.md) what a second run takes from the first, and what
`--full` and `--resume` change.
""",
    "check": """\
`DATASETS` are files, or folders whose record files are taken: `*.jsonl`, `*.ndjson`, both also as `.gz`, `.bz2`, `.xz`
and `.zst`, and `*.parquet`; of a folder without any, those in its folder `data`. Every line or row is a record, of any
[preset](presets.md) or of another tool that writes `messages` or `conversations`. Whether its calls are native or
written in the text is recognised record by record. The findings are printed as in `reports/integrity-report.txt`, with
`--json` as in `reports/findings.jsonl`; [checks.md](checks.md) lists them. `session` is the record's column
`session_id`, as `--metadata` writes it, else the name of the file without its suffix. The counts by code come last, on
standard error. A record is checked as it stands, and nothing tells of what logs it was made: where these define no
tools, which `convert` reports once (`source-without-tools`), each record has `calls-without-tools` and
`undeclared-tool` here. With `--anonymize`, addresses that `convert` would
[replace](conversion.md#e-mail-addresses) are found, too, which takes no key (`address-left`). A file without records is
an error (`empty-dataset`). `.zst` needs the extra `chatsquash[zstd]`.

```console
$ printf '%s\\n' '{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "ls", "description": "List files."}]}' '[1]' > data.jsonl
$ chatsquash check data.jsonl || echo "exit code $?"
WARNING	session=data	input=data.jsonl:1	[tool-parameters-missing] tool 'ls' has no parameters: add a JSON schema, an empty one if it takes none
ERROR	session=data	input=data.jsonl:2	[bad-record] not a record, the line is a list: a record is {"messages": [...], "tools": [...]}
findings:
        1  error    bad-record
        1  warning  tool-parameters-missing
exit code 3
```

`--template` also renders every record with a chat template, as `apply_chat_template` of transformers (5.23) does, in
jinja2's sandbox; this needs the extra `chatsquash[template]`. In a copy of the record, a word is put into every text,
call and definition; what of these words is missing in the rendering is lost. The
[findings](checks.md#on-what-a-chat-template-makes-of-a-record-by-chatsquash-check---template) name the preset and the
modifiers of `convert` that cure them, each the simplest of those that were tried on the record. `FILE` is a `.jinja`
file, a `tokenizer_config.json`, a `chat_template.json`, or a model's folder with one of them; special tokens come from
the `tokenizer_config.json` in the same folder and are empty without. The records of `sharegpt` are rendered as the
messages that they stand for. `--show` prints the rendering of one record, counted over all `DATASETS`, with control
characters escaped.

Templates come from the net, so one is compiled and rendered in a process of its own. A record that takes more time than
`--render-time`, in seconds, or more memory than `--render-memory` is reported as `template-error`, and the next one is
rendered; no cure is looked for, and the search for one takes no longer than `--render-time` either. After 20 records
that took over a tenth of that time the template is given up: the records behind them are not rendered but counted, and
the exit code is 3.

```console
$ printf '%s\\n' '{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "ls"}]}' > chats.jsonl
$ echo '{% for m in messages %}{{ m.role }}: {{ m.content }}{{ "\\n" }}{% endfor %}' > chat.jinja
$ chatsquash check chats.jsonl --template chat.jinja --show 1
user: Hi

$ chatsquash check chats.jsonl --template chat.jinja > findings.txt || echo "exit code $?"
1 record rendered with chat.jinja: 0 whole
        1  template-tool-lost: no preset or modifier cures it
findings:
        1  error    template-tool-lost
        1  warning  tool-description
        1  warning  tool-parameters-missing
exit code 3
```
""",
    "stats": """\
`DATASETS` are as for `check`. Characters are those of texts, reasoning, and names and arguments of calls; those of
definitions are counted beside them, as JSON. The sums, the mean and the most are exact, percentiles to three digits.
Duplicates are records that repeat an earlier one byte by byte. `--tokenizer` counts tokens with a `tokenizer.json` (the
extra `chatsquash[tokens]`): of these texts and definitions one by one, or with `--template` of what a chat template makes
of the record, with the bounds that `check` has: a record that is not rendered counts no tokens, and a template that is
given up ends the command with exit code 2. Memory does not grow with the datasets, but for eight bytes a record.

```console
$ printf '%s\\n' '{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "ls"}]}' > chats.jsonl
$ chatsquash stats chats.jsonl
1 record in 1 file, 0 of them repeat an earlier one
roles: user 1
tools: defined in 1, called in 0 records

per record           total  mean  median  90 %  99 %  most
messages                 1   1.0       1     1     1     1
assistant turns          0   0.0       0     0     0     0
tool calls               0   0.0       0     0     0     0
characters               2   2.0       2     2     2     2
characters of tools     15  15.0      15    15    15    15

tool  records  calls
ls          1      0

longest        characters  messages
chats.jsonl:1           2         1
```
""",
    "verify": """\
`OUT` is the folder that `convert` wrote to. What does not agree with `run.json` is printed, a line each;
[reliability.md](reliability.md#verify) says what is compared.
""",
    "inspect": """\
`LOG` is found as the `LOGS` of `convert` are. The format that was found and the evidence for it come first, and the
envelope unless it is the plain one; [formats.md](formats.md#how-a-format-is-recognised) says how they are told. A file
with several sessions is shown session by session. Then comes one row per line of the log: its time (UTC), how many of its messages are
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
format: openai_chat (choices[].message in the response)
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
INFO	session=s1	input=tail.jsonl:2	[no-tools] the record defines no tools: if the session had some, the logger leaves request.tools out
```

| outcome | the entry |
|---|---|
| `selected` | became the record, or would have if the session were not left out |
| `superseded` | came before it |
| `cut` | came after it and has fewer messages |
| `cleaned` | was dropped by the cleaning rules |
| `bad-line`, `bad-entry` | could not be read; the reply column has the line's length |
""",
    "translate": """\
`FORMAT` is a name from [formats.md](formats.md#translating), which says what `IN` may be, what the files are called and
what the lines that are printed count. With `--output` a folder, each conversation is a file; with `--jsonl`, or `--output -`, each is
a line, and without `--jsonl` only one can be printed. Nothing is written where an input cannot be read, where a file is
there already (`--force` replaces it), or where `--lossless` finds that something would be lost.

```console
$ chatsquash translate sample_logs/gemini --to vercel_ai --output chats
2 conversations written as vercel_ai
        4  not held: tools[]
        1  request option: generationConfig
        1  request option: generation_config
$ chatsquash translate sample_logs/gemini --to vercel_ai --output chats || echo "exit code $?"
error: chats/greenhouse-02.json: is there already; --force replaces it
exit code 2
$ chatsquash translate chats --to ollama --output chats.jsonl --jsonl --lossless || echo "exit code $?"
...
exit code 1
$ ls
chats
sample_logs
tail.jsonl
```

A line that cannot be read costs that line, as in `convert`, and so does one that is no conversation among lines that are:
it is told with its file, its number and what is wrong, the first 20 of many, and the rest is written. So is a file of which no line can be read, beside others.

The exit code is 0 when every conversation was written, whatever the format could not hold of it; 3 when a line or a file
could not be read; 1 when `--lossless` refused; 2 when an input that was named cannot be opened or is of no known format,
when there is nothing to read, when several conversations are to be printed without `--jsonl`, or when a file is there
already. [Exit codes](#exit-codes) has all of them.
""",
    "formats": """\
The names in the first column of the first two tables are those that `--from` takes, and `--to` where the format is
written. `streams` says whether streamed responses are read, `tool definitions` whether the format has any beside the
calls. [formats.md](formats.md) says more of each.
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
separated by spaces; of several phrases each has a line of its own.

```console
$ CHATSQUASH_GROUP_BY=none CHATSQUASH_QUIET=1 chatsquash convert sample_logs
$ ls out
conversations.jsonl
reports
run.json
```
"""

_REST = """\
## Options without effect

Two options of which one has no effect are an error that names both, and so is one that has none without another. In
Python it names the fields of `Options`. An option that a variable sets is passed over where it has no effect.

<pairs>
- `--group-by` with `--single-file`, unless both say `none`: of a variable and the command line, the latter counts
- `check`: `--json` with `--show`, which prints a rendering, and `--show` without `--template`
- `check` and `stats`: `--render-time` and `--render-memory` without `--template`
- `stats`: `--template` without `--tokenizer`
- `translate`: `--force` with `--output -`, which replaces nothing

In a [dataset folder](dataset.md), `--group-by` and `--single-file` still say what the rows of
`reports/tool-usage.csv` are.

## Exit codes

`formats` ends with 0; the others with:

| code | `convert` | `check` | `stats` | `verify` | `inspect` | `translate` |
|---|---|---|---|---|---|---|
| 0 | every session was written and every line could be read | no finding is an error | every line is a record | all agrees | done | every conversation was \
written |
| 1 | stopped by `--strict` or `--on-invalid abort`, or by a failure; no new output | output was closed early | \
output was closed early | output was closed early | output was closed early | `--lossless` refused; or output was closed early |
| 2 | wrong options, nothing to read, the output folder is refused, or its result would be taken away (`--replace`) | wrong options, or a file that cannot be read | \
wrong options, a file that cannot be read, or a template that was given up | no run was finished there | wrong options, or a file that cannot be read | wrong options, nothing to read, a file that cannot be read, or one that \
is there already |
| 3 | finished, but a session or a line was left out | a finding is an error | a line is no record | something differs | | finished, but a line \
or a file could not be read |
| 130 | interrupted; no new output | interrupted | interrupted | interrupted | interrupted | interrupted |
| 143 | terminated; no new output | terminated | terminated | terminated | terminated | terminated |

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

_IN_REQUESTS = {6: "request", 7: "turns of the request", 8: "tools and options of the request"}
"""Where evidence of a rank stands in requests."""

_FORMATS = """\
# Formats

Which logs and files are read, how they are told apart, what becomes of them, and what is written. This page is made
from the code by `make docs`. `chatsquash formats` prints which formats are read and written.

- [The formats](#the-formats) of requests and responses
- [Documents](#documents): the files that clients and agents keep
- [How a format is recognised](#how-a-format-is-recognised)
- [Envelopes](#envelopes): how loggers wrap requests and responses
- [Streamed responses](#streamed-responses)
- [What becomes of a conversation](#what-becomes-of-a-conversation)
- [What is left out](#what-is-left-out)
- [Translating](#translating) conversations from one format to another
- [What each format holds](#what-each-format-holds)

## The formats

The table says in which member of a request's body the turns stand, and the system prompt and the tools beside them.
All of these formats are read and written, with their tool definitions; streamed responses are read.

{formats}

Whatever the format, a record has the messages of OpenAI chat completions. A log that is OpenAI chat already keeps what
its vendor writes otherwise, as it was logged: a missing `type`, objects for arguments, `function_call`, `reasoning`. The
finding `vendor-form` counts that once per session. All other formats get the names of OpenAI.

## Documents

A document is a file that holds conversations whole: what a client or an agent keeps, not what a logger wrote of its
requests. All of these are read, some are written.

{documents}

- `convert` and `inspect` read documents beside logs: each conversation in one is a session. In a folder, `.json` and
  `.db` files are read only where they are recognised, and counted otherwise.
- A file that holds one request's body, one list of turns, or one exchange is a session, too, on one line or on many. A
  single line with `messages` and no model, in a file that is not `.json`, is taken for a row of a dataset, and is none.
- A file may hold several conversations: branches that were left by editing a prompt, what a compaction replaced, runs
  of subagents, a line for each. All of them are read, but those that another one goes on from; first comes the one in use,
  which is what `chatsquash.load` gives. With `--sessions-by file`, the first is the session, and the finding `other-conversations` counts them.
- Where documents hold no tool definitions, records have calls whose tools they do not define. The finding
  `source-without-tools` says so once for each such format, and `undeclared-tool` and `no-tools` of none of its sessions.
- A conversation counts as one line, and findings have it as line 1. A document that is broken gives no record, but
  `unknown-format`, which says where it is broken.
- A record of a document stands in `undated.jsonl`, unless a date is in the [path](conversion.md#which-files-are-read).
- `oumi_history`: each branch of a history has its name, its parent and the place where it left that one, in Python as
  `Conversation.branch`. By default the current branch and all that end are read; `translate --all-branches` takes those
  that others go on from, too. Branches of one file are written as branches of one file.
- `goose`: `sessions.db` is read whole and from memory, since SQLite would write beside it; while goose runs, what is new
  may stand in `sessions.db-wal`, and then the database is not read but named in an error. So it is where
  `sessions.db-journal` has what a program that was killed did not finish. Only what stands in tables is read, within
  [bounds](conversion.md#bounds) of time and memory.
- A document is recognised by what stands in all of it. If it may be of two formats, that is an error that names both;
  `--from` chooses.

## How a format is recognised

Each file has one format. It is told by evidence, in the order of this table: that of a lower rank decides first, so a
response counts more than a request, and a member's name more than what turns hold. Evidence in turns is looked for in
all of them, never in strings.

{marks}

If the first exchange has a response that tells, the file is of its format. Otherwise up to 50 lines in the first 4 MiB
are looked at, and the format of most of them is that of the file; plain messages count only where no line has evidence,
since they mean the same in all formats that have `messages`.

- `chatsquash inspect` shows the format that was found and why.
- A line of another format or envelope is read by its own, and counted in the finding `mixed-formats`.
- If nothing is known, or if responses speak for two formats at once, no record is written, the exit code is 3, and
  `unknown-format` names what was seen and what is known. That is also what becomes of datasets with `messages` in each
  row, of responses with embeddings, and of other JSON that is no log.
- `--from FORMAT` reads all logs as that format and looks for nothing.

```console
$ chatsquash inspect sample_logs/gemini/harbour-weather-is-01.jsonl
sample_logs/gemini/harbour-weather-is-01.jsonl: session harbour-is-01
format: gemini (candidates[].content or finishReason in the response)
...
```

## Envelopes

Each line of a log is one exchange. In every envelope the bodies may be of any format, but for LiteLLM and OpenHands,
which write OpenAI chat whatever the provider is.

{envelopes}

- HTTP pairs: the response's body is in `body` or as text in `body_raw`. Headers are never read, so no key or cookie
  reaches a record or a finding; `--keep-rejected` takes them out. The time is `timestamp`, that
  of the request, or `logged_at`.
- LiteLLM: payloads of its logger, and rows of its spend log, whose members are JSON as text. Tools are looked for in
  `model_parameters` and in `proxy_server_request`. The session is `session_id`, `litellm_session_id`, `trace_id` or
  `litellm_trace_id`.
- OpenHands: `fncall_messages` and `fncall_response` are preferred, since `messages` then hold calls as text. Tools are
  in `kwargs.tools`.
- `request` and `response`: the fields that [conversion.md](conversion.md#what-a-line-holds) describes.

An answer with a status other than 200 to 299, a status `failure`, or an error body is never a reply. The entry stays,
and if it is the one converted, `missing-reply` says why, with the status.

### Several sessions in a file

`--sessions-by` says what a session is; without it, the envelope does, as in the table.

| `--sessions-by` | a session is |
|---|---|
| `file` | a file; where it holds two ids, it is left out (`session-id-mismatch`), unless `--on-invalid keep` is given, too |
| `id` | the lines of a file that have one session id, in file order; lines without an id are one session, too |

Lines are grouped in two passes, the first of which keeps places only, so memory follows the largest session. The same id
in two files is two sessions.

## Streamed responses

A response may be a list of events, or one text: server-sent events with `data:` lines, or one JSON object per line. In
all three texts and arguments grow piece by piece, and an id or a name that comes again is not doubled. A stream that
ends early gives what arrived, arguments as far as they came, and the finding `stream-cut`.

```json before
{{"timestamp": 1, "session_id": "s", "request": {{"contents": [{{"role": "user", "parts": [{{"text": "Hi"}}]}}]}},
 "response": [{{"candidates": [{{"content": {{"role": "model", "parts": [{{"text": "Good "}}]}}}}]}},
              {{"candidates": [{{"content": {{"role": "model", "parts": [{{"text": "day"}}]}}, "finishReason": "STOP"}}]}}]}}
```

```json after
[{{"role": "user", "content": "Hi"}}, {{"role": "assistant", "content": "Good day"}}]
```

## What becomes of a conversation

```json before
{{"timestamp": 1, "session_id": "s",
 "request": {{"model": "claude-sonnet-4-5", "max_tokens": 1024, "system": "Be brief.",
   "tools": [{{"name": "read", "input_schema": {{"type": "object", "properties": {{"path": {{"type": "string"}}}}}}}}],
   "messages": [
     {{"role": "user", "content": "What is in a.txt?"}},
     {{"role": "assistant", "content": [
       {{"type": "thinking", "thinking": "Look first.", "signature": "c2ln"}},
       {{"type": "text", "text": "I will look."}},
       {{"type": "tool_use", "id": "toolu_1", "name": "read", "input": {{"path": "a.txt"}}}}]}},
     {{"role": "user", "content": [
       {{"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such file", "is_error": true}},
       {{"type": "text", "text": "Try b.txt."}}]}}]}},
 "response": {{"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
   {{"type": "tool_use", "id": "toolu_2", "name": "read", "input": {{"path": "b.txt"}}}}]}}}}
```

```json after
{{"messages": [
   {{"role": "system", "content": "Be brief."}},
   {{"role": "user", "content": "What is in a.txt?"}},
   {{"role": "assistant", "content": "I will look.", "reasoning_content": "Look first.", "tool_calls": [
     {{"id": "toolu_1", "type": "function", "function": {{"name": "read", "arguments": "{{\\"path\\":\\"a.txt\\"}}"}}}}]}},
   {{"role": "tool", "tool_call_id": "toolu_1", "content": "no such file"}},
   {{"role": "user", "content": "Try b.txt."}},
   {{"role": "assistant", "tool_calls": [
     {{"id": "toolu_2", "type": "function", "function": {{"name": "read", "arguments": "{{\\"path\\":\\"b.txt\\"}}"}}}}]}}],
 "tools": [{{"name": "read", "parameters": {{"type": "object", "properties": {{"path": {{"type": "string"}}}}}}}}]}}
```

| in the log | in the record |
|---|---|
| system prompt beside the turns | a `system` message before all others; one among the turns stays where it is |
| text | a string if it is the only part, else a list of parts |
| images, sound, documents | parts `image_url`, `input_audio`, `file`; data as a data URL |
| calls | `tool_calls`; an object of arguments becomes compact JSON text in its order, a string stays as it is |
| arguments that are missing or null | `{{}}` |
| several calls in a turn | several calls in one message |
| results | one `tool` message each, in their order, also where one turn holds several |
| text beside results in one turn | a `user` message behind those results |
| results that are objects or lists | compact JSON text; of Gemini's `{{"output": ...}}` and `{{"error": text}}` what is in it |
| `is_error`, Gemini's `error` | the text unchanged; the check `tool-result-failed` uses the mark |
| reasoning | `reasoning_content`, several blocks with an empty line between them |
| tool definitions | `name`, `description`, `parameters`, `strict`; Gemini's `OBJECT` becomes `object` |
| calls without ids | `call_1`, `call_2`, ... over the whole conversation |
| results without ids | the id of the open call of that name, else of the first open call, else `orphan_1`, ... |
| items of OpenAI Responses | those of the assistant up to the next one of somebody else are one message |
| `previous_response_id` | the conversation up to that response, if the log has it; else `missing-history` |

Why a reply ended matters to findings only:

| in the log | counts as | finding |
|---|---|---|
| `end_turn`, `stop_sequence`, `pause_turn`, `STOP`, `completed`, `stop` | the end, or calls if there are any | |
| `tool_use` | calls | |
| `max_tokens`, `model_context_window_exceeded`, `MAX_TOKENS`, `max_output_tokens`, `length` | cut off | \
`reply-truncated` |
| `refusal`, `SAFETY`, `RECITATION`, `BLOCKLIST`, `PROHIBITED_CONTENT`, `SPII`, `content_filter` | refused | |

### Reasoning

| `--reasoning` | reasoning |
|---|---|
| `keep` (default) | stays in its field, `reasoning_content`; in a log of OpenAI chat, in the one that it was logged in |
| `inline` | stands in `<think>` tags before the text, and the field goes |
| `drop` | is removed, a leading `<think>` block too |

Both `inline` and `drop` take every spelling: `reasoning_content`, `reasoning`, `reasoning_details`, `thinking`,
`thinking_blocks`, and content parts of type `thinking`. There is never an empty block.

```json before
{{"timestamp": 1, "session_id": "s", "request": {{"model": "m", "messages": [{{"role": "user", "content": "7 * 6?"}}]}},
 "response": {{"done": true, "done_reason": "stop",
              "message": {{"role": "assistant", "thinking": "6 * 7 = 42", "content": "42"}}}}}}
```

```json after --reasoning inline
[{{"role": "user", "content": "7 * 6?"}},
 {{"role": "assistant", "content": "<think>\\n6 * 7 = 42\\n</think>\\n\\n42"}}]
```

## What is left out

| left out | reported as |
|---|---|
| blocks that chat messages have no place for: calls of hosted tools and what they gave, citations of Gemini | `not-held`, \
with their kinds |
| tools that the provider runs itself | `hosted-tools` |
| text of the assistant behind its calls in one turn, which is rare; presets and `--json-tool-calls` have it before them | \
`not-held`, as text behind calls, or `shape-changed` |
| what a stream did not bring | `stream-cut` |
| candidates and choices after the first | `extra-choices` |
| what came before a response that the log does not have | `missing-history` |
| signatures, encrypted reasoning, cache marks, ids of items and messages, citations of Anthropic and OpenAI | not \
reported |
| `is_error` | not reported as lost; the text stays |

## Translating

`chatsquash translate` writes whole conversations in another format. [cli.md](cli.md#chatsquash-translate) lists its
options and exit codes.

| `IN` | the conversations |
|---|---|
| a document | those in it |
| a request's body, a list of its turns, a record of a dataset, an exchange on several lines | one |
| lines of such | one for each line |
| a session log, even of one line | that of its last full state with the reply, which is what `convert` would choose; \
one for each session where the logger is known to [mix several](#several-sessions-in-a-file) |
| a folder, a glob | those of its files, which are found as by `convert`; the output is never read |
| `-` | what comes from standard input, which is any of the above but a folder |

Nothing is cleaned, and no address is replaced. `--from` names the format of all inputs; without it, each is told by what
is in it. A conversation is written to a file `NAME.json` in the folder `OUT`; the name is the session's id in a log,
else that of the file, with `-1`, `-2` and so on where it holds several. With `--jsonl`, `OUT` is one file with a line for
each. With `-o -` they are printed, so that it works in a pipe:

```console
$ chatsquash translate sample_logs/gemini/greenhouse-02.jsonl --to anthropic -o - --quiet > body.json
$ chatsquash translate - --to openai_chat -o - --quiet < body.json | cut -c -30
{{"messages":[{{"role":"system",
```

### What is lost

What is printed at the end says by kind and count what is not in the output:

| | |
|---|---|
| `not held` | The target has no place for it. Every conversation that is written is read again and compared; the places that differ are counted by their kind, the path without the numbers in it. |
| `not read` | It belongs to the conversation, and none of the formats has it in its turns: tools that the service runs itself, choices after the first, turns that are kept elsewhere (`previous_response_id`, `cachedContent`), lines and files that cannot be read; in folders also files that hold no conversation. |
| `request option` | A member of a request that only says how the service is to answer, such as `model` or `temperature`. It is no part of the conversation, so nothing is lost. |
| `not linked` | Calls without a result and results without a call. They are written as they are; Anthropic and Gemini refuse a request with such, but for calls at its end. |

`--lossless` refuses at the first thing that is not held, and at the first that is not read, files in folders that hold
no conversation aside, and writes nothing at all.

- `_x` in a path is what another format said and OpenAI chat has no place for: signatures, the mark of a failed result,
  members of its own. `messages[+]` is a message more, such as one that had to be divided; `branch` is that a
  conversation goes on from another.
- Arguments are counted where a format holds them as objects and so loses their white space.
- Where a format has no place for several texts in a message, they become one, each on a line of its own.
- Anthropic and Gemini refuse names with other letters than a few, and may refuse two calls with one id. There, and in `portable`,
  ids that repeat get another end, as in `call_1_2`, their results with them. For Anthropic names are of letters, digits,
  `_` and `-`; for Gemini also of `.` and `:`, and begin with a letter or `_`; 128 at most. Anything else becomes `_`, in
  definitions, calls and results alike. Both count as `not held`.

```console
$ chatsquash translate sample_logs/ollama --to vercel_ai -o chats --lossless || echo "exit code $?"
error: atelier-01: vercel_ai cannot hold tools[0] and 1 more; without --lossless the rest is written
exit code 1
$ chatsquash translate sample_logs/ollama --to vercel_ai -o chats
1 conversation written as vercel_ai
        2  not held: tools[]
        1  request option: model
        1  request option: options
        1  request option: stream
        1  request option: think
```

### What is never stripped

Some formats have no place for a thing, and a text says it instead. When a file is read, no text is taken for more than
it says, since anybody may have written it, unless the format itself gives it that meaning:

| text | read as |
|---|---|
| `ERROR: ` before a result, which is what `ollama`, `portable` and `oumi` get for a failed one | text that stays as it \
is; the mark of a failure only in files of `clippy`, which are written so |
| `{{"error": "..."}}` as a result | text or JSON that stays as it is; the mark of a failure in a `functionResponse` of \
Gemini, whose documentation says so |
| `<system>` around a text in a turn of Gemini's | text that stays as it is, unless `partMetadata` beside it says that it \
is a system prompt |
| `<think>` in a text | text that stays as it is |

One thing is unwrapped: arguments that are no JSON object are written as `{{"INVALID_JSON": "the text"}}` where a format
wants an object, as Pydantic AI does, and arguments with that one member are read as its text.

## What each format holds

Of each kind of content, what is left when a conversation is written in a format and read again:

| | |
|---|---|
| `=` | all of it |
| `~` | the words and the calls; lost is where a text stood or how it was divided, a mark that no record shows (a \
signature, that a result was JSON or had failed) |
| `x` | not all: something is lost or became something else |
| `*` | behind a sign: only chatsquash gets that much back; other programs pass over what it is kept in |

{kinds}

- `pydantic_ai` and `vercel_ai`: what their own parts cannot say is kept in a remainder beside them, in
  `metadata.chatsquash`, `callProviderMetadata.chatsquash` or a part `data-chatsquash`. `gemini`: a system prompt in the
  middle is a user's turn for others, with `partMetadata` that says what it was.
- `oumi_history` holds what system, user and assistant say as text, and the assistant's reasoning; all else is lost.
- `clippy` holds what `openai_chat` holds, and marks failed results with `ERROR: `.
- Tool definitions are no row: the formats of requests and `oumi` hold them; in `clippy`, `portable`, `pydantic_ai` and
  `vercel_ai` they are lost, and counted as `tools[]`.
- Usage, times and ids of messages are not read, so they are neither kept nor counted.
"""


_REGION = re.compile(r"<!-- generated: (\S+) -->\n.*?^<!-- /generated -->", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """Every generated page, by its path below the project."""
    return {
        "docs/checks.md": with_regions("docs/checks.md", checks.regions()),
        "docs/cli.md": command_line(),
        "docs/formats.md": formats_and_envelopes(),
        "docs/presets.md": with_regions("docs/presets.md", presets.regions()),
    }


def with_regions(page: str, made: dict[str, str]) -> str:
    """The text of a page with its generated regions made anew; each of them has its name in the page, once."""
    written = (ROOT / page).read_text(encoding="utf-8")
    named = _REGION.findall(written)
    assert sorted(named) == sorted(made), f"{page} has the regions {named}, and {list(made)} are made"
    return _REGION.sub(
        lambda found: f"<!-- generated: {found[1]} -->\n\n{made[found[1]]}\n\n<!-- /generated -->", written
    )


def formats_and_envelopes() -> str:
    """The text of ``docs/formats.md``."""
    tables = {"formats": _formats(), "documents": _documents(), "marks": _marks(), "envelopes": _envelopes()}
    tables["kinds"] = round_trip.table()
    return _FORMATS.format(**tables, plain=PLAIN)


def _formats() -> str:
    rows = [
        (_code(each.name), _ticked(each.what), _code(form.TURNS), _codes(form.SYSTEM), _codes(form.TOOLS))
        for each, form in zip(exchanges(), formats().values(), strict=True)
    ]
    return _rows(("format", "what it is", "turns", "system prompt", "tools"), rows)


def _documents() -> str:
    rows = [
        (_code(each.name), "yes", "yes" if each.writes else "", "yes" if each.tools else "", _ticked(each.what))
        for each in held()
    ]
    return _rows(("document", "reads", "writes", "tool definitions", "what it is"), rows)


def _marks() -> str:
    """Every mark, those first that decide first."""
    found = [(mark, where, name) for name, form in formats().items() for mark, where in _places(form.marks)]
    rows = [(mark.rank, where, _code(name), mark.what) for mark, where, name in found]
    rows.append((PLAIN_RANK, "request", _code(PLAIN), "messages with roles, and nothing of the above"))
    ranked = sorted(dict.fromkeys(rows), key=lambda row: row[0])
    return _rows(("rank", "where", "format", "what is seen"), [(str(rank), *rest) for rank, *rest in ranked])


def _places(marks: Marks) -> Iterator[tuple[Mark, str]]:
    yield from ((mark, "events of a stream") for mark in marks.event)
    yield from ((mark, "response") for mark in marks.response)
    yield from ((mark, _IN_REQUESTS[mark.rank]) for mark in marks.request)


def _envelopes() -> str:
    rows = [(each.NAME, each.WHAT, "`id`" if each.MIXES else "`file`") for each in envelopes()]
    return _rows(("envelope", "a line", "`--sessions-by`"), rows)


def _ticked(what: str) -> str:
    """A sentence of a docstring as Markdown."""
    return what.replace("``", "`")


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(map(_code, names)) or "among the turns"


def _code(text: str) -> str:
    return f"`{text}`"


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def command_line() -> str:
    """The text of ``docs/cli.md``."""
    made_with = f"<!-- The help texts are formatted by click {click_version()}. -->\n"
    helps = [_help(), *map(_help, _AFTER)]
    told = "".join(f"- {pair.told}\n" for pair in PAIRS)
    return "\n".join(
        [_INTRODUCTION, made_with, *helps, _VARIABLES + _variables(), _VARIABLE_NOTES, _REST.replace("<pairs>\n", told)]
    )


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
    rows: dict[str, tuple[list[str], dict[str, None], list[str]]] = {}
    for command in _AFTER:
        for option in _options(command):
            names = [*option.opts, *option.secondary_opts]
            shown, values, commands = rows.setdefault(str(option.envvar), (names, {}, []))
            assert sorted(shown) == sorted(names), f"{option.envvar} sets two options: {shown}, {names}"
            values[_values(option)] = None
            commands.append(command)
    lines = ["| option | variable | value | commands |", "|---|---|---|---|"]
    for variable, (names, values, commands) in rows.items():
        spelled = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {spelled} | `{variable}` | {' or '.join(values)} | {', '.join(commands)} |")
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
