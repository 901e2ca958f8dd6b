"""The delta law for every format: reading by edits gives what loading each line alone gives."""

import io
import json
import math
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from chatsquash.core.edits import replay
from chatsquash.core.jsonio import leaves
from chatsquash.formats import formats, view
from chatsquash.formats.base import TurnError
from chatsquash.reading import deltas, envelopes
from chatsquash.reading.deltas import Effort
from chatsquash.reading.evidence import Shape, detect_shape
from tests import format_logs
from tests.conftest import examples, often
from tests.session.streams import entries, taken

PATHS = ("extensions", "patches", "unrelated", "whole")
LOADED = [name for name in formats() if name != "openai_chat"]


def read(data: bytes, shape: Shape, effort: Effort | None = None):
    return taken(entries(data, shape, effort))


class Row(NamedTuple):
    """What one line gives when nothing is known of the others, but the responses that it may refer to."""

    kind: str
    messages: Any = None
    tools: Any = None
    reply: Any = None


def alone(data: bytes, name: str) -> list[Row]:
    answers: dict[str, list[Any]] = {}
    return [row_of(line, name, answers) for line in data.split(b"\n")]


def row_of(line: bytes, name: str, answers: dict[str, list[Any]]) -> Row:
    if not line.strip(b" \t\r\n"):
        return Row("blank")
    try:
        value = json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError:
        return Row("bad-line")
    if not isinstance(value, dict):
        return Row("bad-line")
    request, body = value.get("request"), value.get("response")
    if isinstance(request, dict) and "body" in request:
        request, body = request["body"], (body or {}).get("body")
    return of_request(request, body, name, answers) if isinstance(request, dict) else Row("bad-entry")


def of_request(request: dict[str, Any], body: Any, name: str, answers: dict[str, list[Any]]) -> Row:
    form = formats()[name]
    turns, loads = request.get(form.TURNS), name != "openai_chat"
    if loads and isinstance(turns, dict | str):
        turns = [turns]
    if not isinstance(turns, list):
        return Row("bad-entry")
    turns = [*answers.get(request.get("previous_response_id", ""), ()), *turns]
    try:
        messages = loaded(form, first(request, form.SYSTEM), turns) if loads else as_logged(turns)
    except TurnError:
        return Row("bad-entry")
    assert not any(isinstance(leaf, float) and not math.isfinite(leaf) for leaf in leaves(turns))
    if name == "openai_responses" and isinstance(body, dict) and "id" in body:
        answers[body["id"]] = [*turns, *body.get("output", [])]
    tools = first(request, form.TOOLS)
    functions = form.tools(tools).functions if loads else tools if isinstance(tools, list) else []
    return Row("entry", messages, functions, form.reply(body).message)


def first(request: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((request[name] for name in names if request.get(name) is not None), None)


def loaded(form, system, turns):
    found, state = list(form.system(system)) if system is not None else [], form.START
    for turn in turns:
        result = form.load(turn, state)
        found += result.turns
        state = result.state
    return view.messages([*found, *form.close(state)])


def as_logged(turns):
    for turn in turns:
        if not isinstance(turn, dict) or not isinstance(turn.get("role"), str):
            raise TurnError("is none")
    return turns


def hold_to_the_law(data: bytes, name: str) -> Effort:
    effort = Effort()
    shape, _ = detect_shape(io.BytesIO(data), forced=name)
    found, session = read(data, shape, effort)
    rows = alone(data, name)
    assert session.lines.blank == sum(row.kind == "blank" for row in rows) - (data[-1:] in (b"", b"\n"))
    bad = [(number, row.kind) for number, row in enumerate(rows, 1) if row.kind in ("bad-line", "bad-entry")]
    assert [(rejected.line, rejected.code) for rejected in session.rejected] == bad
    expected = [(number, row) for number, row in enumerate(rows, 1) if row.kind == "entry"]
    assert [entry.line for entry in found] == [number for number, _ in expected]
    before: list[Any] = []
    for entry, (_, row) in zip(found, expected, strict=True):
        assert repr(entry.messages) == repr(row.messages)
        before = replay(before, entry.edits)
        assert all(a is b for a, b in zip(before, entry.messages, strict=True))
        assert repr(entry.tools) == repr(row.tools)
        assert repr(entry.reply.message) == repr(row.reply)
    return effort


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", formats())
def test_replaying_the_edits_is_loading_every_line_alone(name):
    paths: Counter[str] = Counter()

    @examples(400)
    @given(format_logs.logs(name), st.sampled_from([(3, 24), (1, 1)]))
    def law(data, patience):
        # Small logs seldom share nothing for long, so the reader is made impatient for some of them.
        with mock.patch.multiple(deltas, _PATIENCE=patience[0], _WHILE=patience[1]):
            effort = hold_to_the_law(data, name)
        paths.update({path: getattr(effort, path) for path in PATHS})

    law()
    assert all(paths[path] >= often(51) for path in PATHS), paths


(HTTP_PAIRS,) = (each for each in envelopes.envelopes() if each.NAME == "HTTP pairs")
WRAPS = {"plain": (format_logs.plain, envelopes.PLAIN), "HTTP pairs": (format_logs.http, HTTP_PAIRS)}


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", formats())
def test_a_log_that_only_grows_is_parsed_once_and_its_turns_are_loaded_once(name, wrap):
    write, envelope = WRAPS[wrap]
    data, needed = format_logs.growing(name, 40, write)
    form, effort = formats()[name], Effort()
    loaded = []
    # A turn is loaded by ``usual`` or, if that returns ``None``, by ``load``.
    usual = mock.Mock(side_effect=lambda *turn: ((result := form.usual(*turn)) and loaded.append(turn)) or result)
    load = mock.Mock(side_effect=lambda *turn: loaded.append(turn) or form.load(*turn))
    counting = structs.replace(form, load=load, usual=usual)
    with mock.patch("chatsquash.reading.entries.get_format", return_value=counting):
        found, _ = read(data, Shape.of(name, envelope), effort)
    request = json.loads(data.split(b"\n")[-2])["request"]
    turns = len(request.get("body", request)[form.TURNS])
    assert effort.parsed <= 1.1 * needed
    assert (effort.unrelated, effort.extensions, effort.patches, effort.whole, effort.wrong_guesses) == (1, 39, 0, 0, 0)
    assert len(loaded) == usual.call_count == (turns if name in LOADED else 0)
    assert all(entry.tools is found[0].tools for entry in found)
    assert all(entry.shared_prefix == len(before.messages) for before, entry in pairwise(found))
