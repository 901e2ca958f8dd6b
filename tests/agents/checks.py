"""Compare the records of a recording with the truth: each reply trained on once, after what the model was sent."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash import Options, convert
from tests.agents.clients import Client
from tests.agents.protocols import BY_NAME, Json, Turn, joined
from tests.agents.server import MARK, Exchange, marks

SOURCES = ("files", "gateway", "join")
WITHOUT_REQUESTS = ("files", "litellm")
"""Sources that have no complete request: LiteLLM logs a system prompt of Anthropic's API nowhere."""
KINDS = {"main": {"main", "compacted", "branch"}, "subagent": {"subagent"}, "side": {"side"}}
ONCE = ("whole",)
"""How replies ended that are trained on once; those that a provider refused may be, others never are."""


class Trained(NamedTuple):
    """A reply where a record trains on it."""

    kind: str
    message: Json
    before: list[Json]
    tools: list[str]


class Recording(NamedTuple):
    """What was recorded, as far as one source is compared with it."""

    source: str
    exchanges: list[Exchange]
    requests: list[Json]
    present: set[int]
    """The numbers of the replies that the source has."""
    systems: str
    """The system prompts of all requests: a record has one of them, also where the client changed a part of it."""
    tools: dict[str, list[str]]
    """The tools of requests by kind: a record has those of all requests of its conversation."""


def wrong(folder: Path, client: type[Client], source: str) -> list[str]:
    """What is wrong in the records of one source of a recording."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    exchanges = [Exchange(**each) for each in truth["exchanges"]]
    if not exchanges:
        return ["the agent sent no request"]
    files = sorted(path for pattern in client.files for path in (folder / "home").glob(pattern))
    if source in ("files", "join") and not files:
        return ["the agent wrote no file"]
    logs = {
        "files": files,
        "gateway": [folder / "log"],
        "join": [*files, folder / "log"],
        "litellm": [folder / "litellm" / "log.jsonl"],
    }[source]
    options: Json = {"join": True} if source == "join" else {}
    if source != "files":
        log = _lines(folder / "log" / "gateway.jsonl")
        options["sessions_by"] = "id" if source != "litellm" and _has_ids(log, exchanges) else "chain"
    recording = _recording(folder, client, source, exchanges, files)
    with tempfile.TemporaryDirectory() as scratch:
        loss = {"conversations": "all", "loss": "weight"}
        records, failure = _records(logs, Path(scratch) / "all", **loss, **options)
        replies = _trained(records)
        found = [text for each in exchanges for text in _reply(each, replies.get(each.reply, []), recording)]
        found += [text for each in records for text in _pairs(each)]
        plain, second = _records(logs, Path(scratch) / "plain", **options)
        return [*failure, *second, *found, *_repeated(plain)]


def _has_ids(log: list[Json], exchanges: list[Exchange]) -> bool:
    """Whether ids of the log connect a session: its sub-agents and titles may have ids of their own."""
    ids: dict[bool, set[str]] = {True: set(), False: set()}
    for line, each in zip(log, exchanges, strict=True):
        ids[each.kind == "main"].add(line.get("session_id", ""))
    return "" not in ids[True] and ids[False] <= ids[True]


def _recording(
    folder: Path, client: type[Client], source: str, exchanges: list[Exchange], files: list[Path]
) -> Recording:
    requests = [each["request"] for each in _lines(folder / "log" / "gateway.jsonl")]
    written = {each.reply for each in exchanges if source != "files" or each.kind not in client.unwritten}
    present = written & _numbers(files) if source == "files" else written
    turns = [
        turn
        for each, request in zip(exchanges, requests, strict=True)
        for turn in BY_NAME[each.api].turns(request)
        if turn.role == "system"
    ]
    tools: dict[str, list[str]] = {}
    for each, request in zip(exchanges, requests, strict=True):
        tools.setdefault(each.kind, []).extend(BY_NAME[each.api].tools(request))
    systems = _plain("\n".join(turn.text for turn in turns))
    return Recording(source, exchanges, requests, present, systems, tools)


def _records(logs: list[Path], out: Path, **options: Any) -> tuple[list[Json], list[str]]:
    try:
        convert(
            [str(path) for path in logs], str(out), Options(format="jsonl", group_by="none", metadata=True, **options)
        )
    except Exception as error:
        return [], [f"{type(error).__name__}: {error}"[:300]]
    return [line for path in sorted((out / "data").glob("*.jsonl")) for line in _lines(path)], []


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _trained(records: list[Json]) -> dict[int, list[Trained]]:
    """Where each reply is trained on, by its number."""
    places: dict[int, list[Trained]] = {}
    for record in records:
        for index, message in enumerate(record["messages"]):
            if message["role"] != "assistant" or not message.get("weight", 1):
                continue
            numbers = {int(number) for kind, _, number in MARK.findall(_text(message, reasoning=True)) if kind in "qr"}
            for number in numbers:
                tools = [each.get("function", each)["name"] for each in record.get("tools") or ()]
                place = Trained(record["kind"], message, record["messages"][:index], tools)
                places.setdefault(number, []).append(place)
    return places


def _text(message: Json, *, reasoning: bool = False) -> str:
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    texts = [each if isinstance(each, str) else json.dumps(each) for each in calls]
    thoughts = [joined(message.get("reasoning_content"))] if reasoning else []
    return "\n".join([joined(message.get("content")), *texts, *thoughts])


def _turns(messages: list[Json]) -> list[Turn]:
    return [Turn(message["role"], _text(message)) for message in messages]


def _reply(each: Exchange, places: list[Trained], recording: Recording) -> Iterator[str]:
    head = f"reply {each.reply} ({each.kind}, {each.status})"
    is_side = recording.source == "files" and each.kind == "side"
    optional = is_side or each.status == "refusal" or each.reply not in recording.present
    if each.status not in (*ONCE, "refusal"):
        if places:
            yield f"{head} is trained on"
        return
    if len(places) != 1:
        if places or not optional:
            yield f"{head} is trained on {len(places)} times"
        return
    place = places[0]
    if place.kind not in KINDS[each.kind]:
        yield f"{head} has the kind {place.kind}"
    before = marks(_turns(place.before))
    if before != each.before:
        yield f"{head} follows {before!r}, not {each.before!r}"
    yield from (f"{head} {text}" for text in _contents(each, place))
    yield from (f"{head} {text}" for text in _surroundings(each, place, recording))


def _contents(each: Exchange, place: Trained) -> Iterator[str]:
    """Whether a reply has its own text, reasoning and calls, and nothing else."""
    text = joined(place.message.get("content")).strip()
    if text != each.text.strip():
        yield f"has the text {text[:80]!r}, not {each.text[:80]!r}"
    reasoning = joined(place.message.get("reasoning_content")).strip()
    if reasoning and reasoning != each.reasoning.strip():
        yield f"has the reasoning {reasoning[:80]!r}, not {each.reasoning[:80]!r}"
    calls = [(call["function"]["name"], _arguments(call)) for call in place.message.get("tool_calls") or ()]
    wanted = [(name, arguments) for name, arguments in each.calls]
    if calls != wanted:
        yield f"has the calls {json.dumps(calls)[:120]}, not {json.dumps(wanted)[:120]}"


def _arguments(call: Json) -> Any:
    arguments = call["function"]["arguments"]
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def _surroundings(each: Exchange, place: Trained, recording: Recording) -> Iterator[str]:
    """Whether the model was sent the texts before a reply, the system prompt, and the tools."""
    request, protocol = recording.requests[each.reply - 1], BY_NAME[each.api]
    turns, tools = protocol.turns(request), protocol.tools(request)
    sent = _plain("\n".join(turn.text for turn in turns))
    texts = {"user": sent, "assistant": sent, "system": recording.systems + sent}
    if recording.source == "files":
        del texts["system"]  # Codex, for one, writes its instructions with a section that it did not send
    for message in place.before:
        lines = [line for line in map(_plain, joined(message.get("content")).splitlines()) if line]
        strange = [line for line in lines if line not in texts.get(message["role"], line)]
        if strange and not strange[0].startswith("data:image"):
            yield f"follows a text of the {message['role']} that the model was not sent: {strange[0][:80]!r}"
            break
    unknown = sorted(set(place.tools) - set(_known_tools(each, tools, recording)))
    if unknown:
        yield f"has tools that the model was not sent: {', '.join(unknown)[:100]}"
    if recording.source in WITHOUT_REQUESTS:
        return
    if any(turn.role == "system" for turn in turns) and not any(
        message["role"] in ("system", "developer") for message in place.before
    ):
        yield "has no system prompt"
    if absent := sorted(set(tools) - set(place.tools)):
        yield f"does not have these tools: {', '.join(absent)[:100]}"


def _known_tools(each: Exchange, tools: list[str], recording: Recording) -> list[str]:
    """The tools that a record may have: if the request has none, the calls that it repeats keep their definitions."""
    return recording.tools[each.kind] if tools else list(chain.from_iterable(recording.tools.values()))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _pairs(record: Json) -> Iterator[str]:
    """Whether each result answers a call before it."""
    calls: set[str] = set()
    for message in record["messages"]:
        calls |= {call["id"] for call in message.get("tool_calls") or ()}
        if message["role"] == "tool" and message.get("tool_call_id") not in calls:
            yield f"a result without a call: {joined(message.get('content'))[:60]!r}"


def _repeated(records: list[Json]) -> Iterator[str]:
    """Whether the default run ends two records with the same reply."""
    ends: dict[str, int] = {}
    for record in records:
        replies = [message for message in record["messages"] if message["role"] == "assistant"]
        for mark in {match[0] for match in MARK.finditer(_text(replies[-1])) if match[1] == "q"} if replies else ():
            ends[mark] = ends.get(mark, 0) + 1
    yield from (f"the default run ends {count} records with {mark}" for mark, count in ends.items() if count > 1)


def _numbers(files: list[Path]) -> set[int]:
    """The numbers of the replies that occur in an agent's files."""
    paths = [
        path
        for each in files
        for path in (each.parent.glob(f"{each.name}*") if each.is_file() else each.rglob("*"))
        if path.is_file()
    ]
    text = "\n".join(path.read_bytes().decode("utf-8", "replace") for path in paths)
    return {int(number) for kind, _, number in MARK.findall(text) if kind in "qr"}
