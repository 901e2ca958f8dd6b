"""What a request to Gemini holds: the system instruction and the contents."""

from __future__ import annotations

from itertools import groupby

from chatsquash.formats.base import LoadedTurn, TurnError, with_native, with_private
from chatsquash.formats.calls import State, result, results_first
from chatsquash.formats.gemini.pieces import Piece, camel, joined, opened, pieces, rest_of, shown, was_system
from chatsquash.formats.gemini.turn import said
from chatsquash.formats.parts import text
from chatsquash.formats.values import Object, compact, listed, string
from chatsquash.model import Json, Message

START = State()

_USER_ROLES = ("user", "function", "tool", "")


def system(value: Json) -> list[Message]:
    """The system instruction, a content or just its text."""
    if value is None:
        return []
    turn = value if isinstance(value, dict) and "parts" in value else {"parts": value}
    parts, native = opened(turn)
    content = joined(shown(list(pieces(parts, native)), native))
    if content == "" and not native:
        return []
    return [with_private({"role": "system", "content": content}, {"native": native})]


def load(turn: Json, state: State) -> LoadedTurn:
    """A model turn is one message; another one is a message per result, and one per run of other parts."""
    if not isinstance(turn, dict):
        raise TurnError("is no object")
    parts, native = opened(turn)
    role = "" if turn.get("role") is None else turn["role"]
    if role == "model" or (not role and any("functionCall" in camel(part) for part in parts)):
        message, state = said(parts, native, state)
        return LoadedTurn([message], state)
    if role not in _USER_ROLES:
        raise TurnError(f"has the role {compact(role)[:40]}, and Gemini's are user and model")
    if marked := was_system(parts):
        content = joined(shown(pieces(marked, native), native))
        message = with_private({"role": "system", "content": content}, {"native": native})
        return LoadedTurn([message], state.but(by_assistant=False))
    return _heard(parts, native, state)


def _heard(parts: list[Json], native: list[Json], state: State) -> LoadedTurn:
    """Results and what stands beside them, with texts before the first result moved behind those that follow it."""
    told = results_first(list(pieces(parts, native)), _is_result)
    ids, state = _matched([camel(piece.value) for piece in told if _is_result(piece)], state)
    left, messages = iter(ids), list[Message]()
    for are_results, run in groupby(told, _is_result):
        same = {"same_turn": bool(messages)}
        if are_results:
            first, *others = run
            messages.append(_result(first, next(left), same))
            messages += [_result(piece, next(left), {}) for piece in others]
        elif (content := joined(shown(run, native))) != "":
            messages.append(with_private({"role": "user", "content": content}, same))
    if not messages:
        messages = [{"role": "user", "content": ""}]
    if native:
        messages[-1] = with_native(messages[-1], native)
    return LoadedTurn(messages, state)


def _is_result(piece: Piece) -> bool:
    return piece.kind == "functionResponse"


def _matched(results: list[Object], state: State) -> tuple[list[str], State]:
    """The ids of the calls that results answer: those with ids first, then those with names of calls, then the rest."""
    links = [(string(each, "id"), string(each, "name")) for each in results]
    found: dict[int, str] = {}
    for fits in (_has_id, _has_name, _is_left):
        for place, (logged, name) in enumerate(links):
            if place not in found and fits(logged, name, state):
                found[place], state = state.answer(logged, name)
    return [found[place] for place in range(len(links))], state.but(by_assistant=False)


def _has_id(logged: str, _: str, __: State) -> bool:
    return logged != ""


def _has_name(_: str, name: str, state: State) -> bool:
    return any(called == name for _, called in state.open)


def _is_left(_: str, __: str, ___: State) -> bool:
    return True


def _result(piece: Piece, answered: str, extra: Object) -> Message:
    """A result; its media stand behind its text."""
    value = camel(piece.value)
    output, how = response_text(value.get("response"))
    native = rest_of("functionResponse", value, "response", "parts")
    native += [{"thoughtSignature": piece.signature}] if piece.signature is not None else []
    media = list(pieces(listed(value.get("parts")), native))
    message = result(answered, string(value, "name"), joined([text(output), *shown(media, native)]))
    return with_private(message, {**how, **extra, "synthetic_id": not string(value, "id"), "native": native})


def response_text(value: Json) -> tuple[str, Object]:
    """A result as text: what Gemini documents as ``output`` or ``error``, else the whole of it as JSON."""
    if isinstance(value, dict) and list(value) == ["error"] and isinstance(value["error"], str):
        return value["error"], {"is_error": True}
    if isinstance(value, dict) and list(value) == ["output"] and value["output"] is not None:
        value = value["output"]
    if value is None or isinstance(value, str):
        return value or "", {}
    return compact(value), {"json": True}
