"""The text of ``docs/presets.md``; its tables are what the presets do."""

from __future__ import annotations

import json
from typing import Any

from chatsquash.model import Conversation
from chatsquash.records import presets
from chatsquash.records.presets import Column
from chatsquash.records.shaping import line
from tests.checks.rows import assistant, call, result, talk, tool, user

A, B = user("a"), assistant("b")
SYSTEM = {"role": "system", "content": "s"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
TEXT = {"type": "text", "text": "x"}
_MARKS = {"shape-dropped": "-", "shape-changed": "~"}

KINDS: list[tuple[str, Conversation]] = [
    ("content as a list of texts", talk(user([TEXT, TEXT]), B)),
    ("images, sounds and files", talk(user([TEXT, IMAGE]), B)),
    ("other parts that are no text, such as refusals", talk(user([TEXT, {"type": "refusal", "refusal": "no"}]), B)),
    ("reasoning", talk(A, assistant("b", reasoning_content="hm"))),
    ("several calls in a message", talk(A, assistant("", call("c1"), call("c2")), result(), result("2", "c2"), B)),
    ("text beside calls", talk(A, assistant("t", call()), result(), B)),
    ("arguments that are no JSON object", talk(A, assistant("", call(arguments="{")))),
    ("arguments that are missing", talk(A, assistant("", call(arguments=None)))),
    ("integers beyond 64 bits in arguments", talk(A, assistant("", call(arguments='{"q": 18446744073709551616}')))),
    ("integers beyond 64 bits in definitions", talk(A, B, tools=[tool(parameters={"maximum": 2**64})])),
    ("names of tools with other characters than letters, digits, `_`, `-`", talk(A, B, tools=[tool("a.b")])),
    ("definitions without parameters", talk(A, B, tools=[{"name": "f"}])),
    ("calls and results that both have no ids", talk(A, assistant("", call(None)), result(call_id=None), B)),
    ("messages between a call and its result", talk(A, assistant("", call()), A, result(), B)),
    ("a call without a result, and the assistant goes on", talk(A, assistant("", call()), B)),
    ("a result without a call", talk(A, result(), B)),
    ("a call as the last message", talk(A, assistant("", call()))),
    ("messages behind the last of the assistant", talk(A, B, A)),
    ("several system messages at the start", talk(SYSTEM, SYSTEM, A, B)),
    ("system messages later on", talk(A, B, SYSTEM, A, B)),
    ("messages of the user in a row", talk(A, A, B)),
    ("messages of the assistant in a row", talk(A, B, B)),
    ("the assistant speaks first", talk(B, A, B)),
    ("the user speaks right behind a result", talk(A, assistant("", call()), result(), A, B)),
    ("an empty message of the assistant", talk(A, assistant(""), A, B)),
    ("a last reply that says nothing", talk(A, assistant(""))),
    ("content that is no string, list or null", talk(user({"a": 1}), B)),
    ("no message of the assistant", talk(A)),
    ("other roles", talk(A, {"role": "critic", "content": "x"}, B)),
    ("calls of other types, and `function_call`", talk(A, assistant("", {**call(), "type": "custom"}))),
    ("calls in the text beside `tool_calls`", talk(A, assistant("<tool_call>", call()))),
    ("lone surrogates", talk(user("\ud800"), B)),
]

_PAGE = """\
# Presets

The specified record is close to what was logged; trainers want it in shapes of their own. `--preset` writes it in one of
these. This page is made from the code by `make docs`.

{presets}

`hf` is the one to begin with: most open-source trainers take it without any glue. Each preset has a JSON Schema, in its
module in `pipeline/chatsquash/records/presets`, and every record is valid under it. What a preset cannot hold is reported: the
finding `shape-dropped` counts what a record lacks, `shape-changed` what it says otherwise, and a record that the preset
cannot hold at all is left out with an error that names the reason, as [checks.md](checks.md) lists them. Nothing is
guessed: arguments that do not parse are not mended.

Reports are about the specified record: checks, `tool-usage.csv` and the indices of messages.

## The shapes

One conversation in all of them:

{examples}

What all presets but `chat` have in common:

- Content is a text, and parts that are no text go. It is never null; no member of a message is. A record with images,
  sounds or files is left out, unless [`--media`](#images) says otherwise.
- Text parts of a system, user or tool message are lines, unless white space stands at the seam already. Those of the
  assistant that follow each other are one text, since citations split sentences. Where a call, one of a hosted tool,
  reasoning or another part stood between, an empty line does. Text that the assistant said behind its calls comes before
  them so.
- Calls have an id and a name, and stand in `tool_calls`, or in the text in `sharegpt` and `text`.
- Results stand right behind their calls. One that was logged later, with other messages between, moves up. Where a
  result has no call, the record is left out, and where a call has no result and the assistant goes on, `--unpaired` says
  what becomes of it: `refuse` leaves the record out, `cut` ends it before the message with that call, `close` gives the
  call a result, `[no result]` or the text of `--unpaired-text`, behind the others of its message. Calls of the last
  message need none. What was cut or closed is counted.
- Only the first message is of the system; more at the start are joined to it. A later one joins the user's message
  behind it, else the one before it, else becomes one of the user's.
- The last message is of the assistant; what follows it goes. Where the last one of the assistant has neither text, calls
  nor reasoning, or nothing that the preset has a place for, the record is left out (`empty-reply`). Where
  `--reasoning drop` leaves nothing of a reply, that reply goes and the record ends with the one before.
- A record with content that is no string, list or null, such as `5` or `{{"a": 1}}`, is left out (`wrong-content`). `chat`
  writes both kinds of records, with the finding.
- Without tools there is no `tools`.

Where presets differ:

- `hf`: `arguments` are an object, `reasoning_content` has the reasoning whatever the vendor called it, results have the
  `name` of their tool.
- `openai`: `arguments` are the JSON text that was logged; a message with calls and no text has no `content`. Reasoning
  and members that the API does not know go.
- `mistral`: as `openai`, with ids of nine letters and digits, and `content` beside calls empty: tokenizers before
  version 5 refuse text there. Messages of the assistant in a row become one, since Mistral joins them anyway.
- `sharegpt`: both sides alternate strictly, so messages in a row are joined. A call is JSON; several of them, or one with
  text, are `text<tool_call>[...]</tool_call>`. Reasoning stands in `<think>` tags in front.
- `text`: tools stand in the system's text, calls and results in `<tool_call>` and `<tool_response>`, as the templates of
  Qwen 2.5 and Qwen 3 write them; with a system message these give the same text as for `hf`. Reasoning stands in
  `<think>` tags in front.

## What each preset does with

| | |
|---|---|
| `=` | held |
| `~` | said otherwise, and counted as `shape-changed` |
| `-` | lost, and counted as `shape-dropped`; the rest is written |
| `x` | the record is left out |

{kinds}

## Modifiers

They change the conversation before it gets its shape, also that of `chat`, in this order, and count what they did as
`shape-changed`.

| option | what it does | for |
|---|---|---|
| `--reasoning inline`, `drop` | reasoning as `<think>` text, or none; see [formats.md](formats.md#reasoning) | trainers that drop \
`reasoning_content`, such as ms-swift |
| `--system drop` | no system messages | templates that refuse them |
| `--merge-consecutive` | messages of one role in a row become one, but for text behind calls and for results | templates in \
which roles alternate |
| `--split-parallel` | each of several calls gets a message of its own, its result behind it; not where one has no result | \
Llama 3, gpt-oss |
| `--split-text-and-calls` | text beside calls gets a message of its own before them | templates that drop one of them, \
such as Llama 3 and Hermes |
| `--tool-ids short9` | ids of nine letters and digits; those that are so already stay | Mistral Nemo and Small |

`--json-tool-calls` is for `chat` only; `text` writes calls as text for all others.

## Images

An answer that describes an image is made up where the image is missing. `--media` says what becomes of sessions with
images, sounds, films and files:

- `refuse`, the default, leaves them out, as `media-dropped`.
- `drop` writes the rest; `shape-dropped` counts what is missing.
- `keep`, with `hf` only, writes images that the log holds itself, as TRL and templates of vision models read them: a
  content with images is a list of `{{"type": "text", "text": ...}}` and `{{"type": "image"}}`, and the column `images` has
  the images in their order. PNG, JPEG, GIF and WebP are known by their bytes, up to 64 MiB each. Images at an address,
  sounds, films, files, and images in results, which TRL does not count, are refused; nothing is ever fetched.

In Parquet the column has the images themselves, and `datasets` gives them back as such. In lines it has names of files
below `images/`, each named by a hash of what is in it. `datasets` looks for them from the current folder, so load such a
dataset from inside its folder, or write Parquet. In a record with images all that the user says is lists, since TRL would
put all images before the first text that is none; other contents stay texts, which it takes as well. A record without
images has an empty list.

## Numbers

Integers beyond 64 bits make loading a whole dataset fail, so records with them as numbers are left out, also those of
`chat` where a [dataset folder](dataset.md#load-it) is written. Hugging Face `datasets` gives back some floats as their
neighbours, 0.7 as 0.7000000000000001, and in JSON lines rounds all to ten decimals. The finding `float-rounded` counts
those of a record; in the file they stand as logged. Arguments that are text keep every
number.

## LLaMA-Factory

`sharegpt` comes with `dataset_info.json`. It has an entry for each split; a split of several files has one for each of
them, unless it is the only one.
"""
EXAMPLE = talk(
    user("Rain in Oslo?"),
    assistant("I look.", call("call_7", "rain", '{"city": "Oslo"}'), reasoning="Ask."),
    result("none", "call_7"),
    assistant("It stays dry."),
    tools=[{"name": "rain", "parameters": {"type": "object"}}],
)


def page() -> str:
    """The text of the page."""
    return _PAGE.format(presets=_presets(), examples=_examples(), kinds=_kinds())


def _presets() -> str:
    rows = []
    for name in presets.names():
        preset = presets.named(name)
        columns = ", ".join(map(_column, preset.COLUMNS))
        rows.append((f"`{name}`", (preset.__doc__ or "").partition("\n")[0].rstrip(".").replace("``", "`"), columns))
    return _table(("preset", "what it is", "columns"), rows)


def _column(column: Column) -> str:
    """The name of a column, with the option that it is there for."""
    return f"`{column.name}`" + (" with `--media keep`" if column.name == "images" else "")


def _examples() -> str:
    return "\n\n".join(f"`{name}`:\n\n```json\n{_example(name)}\n```" for name in presets.names())


def _example(name: str) -> str:
    """The example as JSON, an item of each list on a line of its own."""
    record = presets.named(name).shape(EXAMPLE).record or {}
    return "{" + ",\n ".join(f"{_json(key)}: {_value(value)}" for key, value in record.items()) + "}"


def _value(value: Any) -> str:
    return "[" + ",\n  ".join(map(_json, value)) + "]" if isinstance(value, list) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _kinds() -> str:
    names = presets.names()
    rows = [(words, *(f"`{_mark(name, conversation)}`" for name in names)) for words, conversation in KINDS]
    return _table(("", *(f"`{name}`" for name in names)), rows)


def _mark(name: str, conversation: Conversation) -> str:
    if name == presets.DEFAULT:
        return "="
    written, findings, *_ = line(presets.named(name), conversation)
    if written is None:
        return "x"
    return next((_MARKS[found.code] for found in findings if found.code in _MARKS), "=")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
