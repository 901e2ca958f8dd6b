"""Rules about the markup of records with calls and results in the text.

All functions take linear time: text is split at closing tags, and each piece is parsed at most twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from chatsquash.checks.registry import Fact, View, check
from chatsquash.core import chat, jsonio
from chatsquash.core.chat import CALL_CLOSE, CALL_OPEN, RESULT_CLOSE, RESULT_OPEN
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Message

TAGS = (CALL_OPEN, CALL_CLOSE, RESULT_OPEN, RESULT_CLOSE)
CALL_TAG = lazy_compile(r"</?tool_call>")
RESULT_START = lazy_compile(r'<tool_result tool_call_id="([^"<]*)">')


@check("error", kind="inlined")
def tool_call_tags(view: View) -> Iterator[Fact]:
    """Reported when the `<tool_call>` and `</tool_call>` tags of a message do not alternate."""
    for at, message in enumerate(view.messages):
        text = (chat.text(message) or "") if message.get("role") == "assistant" else ""
        # Tags within arguments do not count, so complete blocks are replaced by empty pairs.
        if not _alternate(f"{CALL_OPEN}{CALL_CLOSE}".join(_texts_between_blocks(text))):
            open_count, close_count = text.count(CALL_OPEN), text.count(CALL_CLOSE)
            seen = f"{open_count} {CALL_OPEN} and {close_count} {CALL_CLOSE} tags do not alternate"
            yield Fact(f"{seen}: check whether the text or an argument contains one", at)


@check("error", kind="inlined")
def tool_calls_with_markup(view: View) -> Iterator[Fact]:
    """Reported when a message has `tool_calls` in a record whose calls or results are written as text."""
    places = [at for at, message in enumerate(view.messages) if chat.calls(message)]
    if places and has_markup(view.messages):
        for at in places:
            yield Fact("tool_calls remain in a record with markup: give each call a function name", at)


@check("error", kind="inlined")
def tool_result_tags(view: View) -> Iterator[Fact]:
    """Reported when a tool message is not exactly one `<tool_result>` element."""
    for at, message in enumerate(view.messages):
        if message.get("role") == "tool" and _result_content(message.get("content")) is None:
            text = f'the result is not wrapped in {RESULT_OPEN} tool_call_id="...">...{RESULT_CLOSE}'
            yield Fact(f"{text}: check whether the log has its tool_call_id", at)


@check("warning", kind="inlined")
def markup_collision(view: View) -> Iterator[Fact]:
    """Reported when text contains a tag that is also used for calls or results.

    The text is not changed. `chatsquash check` does not have the log, so it treats each well-formed block as markup,
    unless `run.json` records native calls.
    """
    for at, message in enumerate(view.messages):
        tag = (
            _collision(message)
            if view.logged_messages is None
            else _first_tag(chat.text(view.logged_messages[at]) or "")
        )
        if tag:
            yield Fact(f"the text itself contains {tag}: check the message, or convert with native calls", at)


def has_tags(record: bytes) -> bool:
    """Return whether a record, as encoded by ``jsonio``, contains the beginning of a tag."""
    return b"<tool_" in record or b"</tool_" in record


def has_markup(messages: list[Message]) -> bool:
    """Return whether the text of a record contains a well-formed call or result."""
    return any(
        any(call is not None for _, call in _pieces(chat.text(message) or ""))
        if message.get("role") == "assistant"
        else message.get("role") == "tool" and _result_content(message.get("content")) is not None
        for message in messages
    )


def is_inlined(messages: list[Message]) -> bool:
    """Return whether a record has calls as text: markup, or a stray tag without any native call or result."""
    if has_markup(messages):
        return True
    if any(message.get("tool_calls") or message.get("tool_call_id") is not None for message in messages):
        return False
    sides = (chat.text(message) or "" for message in messages if message.get("role") in {"assistant", "tool"})
    return any(map(_first_tag, sides))


# Calls in markup have no ids, so results are matched with the preceding calls in order.
def to_native(messages: list[Message]) -> list[Message]:
    """Convert messages with markup to native calls and results where possible."""
    out: list[Message] = []
    waiting: deque[dict[str, Any]] = deque()
    for at, message in enumerate(messages):
        if message.get("role") == "assistant":
            pieces = list(_pieces(chat.text(message) or ""))
            functions = [call for _, call in pieces if call is not None and not chat.calls(message)]
            calls = [{"id": f"{at}.{n}", "type": "function", "function": call} for n, call in enumerate(functions)]
            waiting = deque(calls)
            if calls:
                text = "".join(piece for piece, _ in pieces)
                message = {**message, "content": text, "tool_calls": calls}  # noqa: PLW2901
        elif message.get("role") == "tool" and (inner := _result_content(message.get("content"))) is not None:
            call_id = _result_id(message)
            if waiting:
                waiting.popleft()["id"] = call_id
            message = {**message, "content": inner, "tool_call_id": call_id}  # noqa: PLW2901
        out.append(message)
    return out


def _alternate(text: str) -> bool:
    is_open = False
    for tag in CALL_TAG.finditer(text):
        if (tag[0] == CALL_OPEN) is is_open:
            return False
        is_open = not is_open
    return not is_open


def _result_content(content: object) -> str | None:
    """Return the content within a result's markup, or ``None`` if the result has no markup."""
    start = RESULT_START.match(content) if isinstance(content, str) else None
    if start is None or not start.string.endswith(RESULT_CLOSE, start.end()):
        return None
    return start.string[start.end() : -len(RESULT_CLOSE)]


def _collision(message: Message) -> str | None:
    """Return the first tag in a message's own text, or ``None``."""
    text = chat.text(message) or ""
    if message.get("role") == "assistant":
        return next((tag for piece in _texts_between_blocks(text) if (tag := _first_tag(piece))), None)
    if message.get("role") == "tool":
        inner = _result_content(message.get("content"))
        text = text if inner is None else inner
    return _first_tag(text)


def _first_tag(text: str) -> str | None:
    return next((tag for tag in TAGS if tag in text), None)


def _texts_between_blocks(text: str) -> Iterator[str]:
    """Return the pieces of an assistant's text between well-formed blocks of calls."""
    return (piece for piece, _ in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Split an assistant's text after each block; yield the text before a block, and its call if it is well-formed."""
    *closed, rest = text.split(CALL_CLOSE)
    for piece in closed:
        yield _block(piece) or (piece + CALL_CLOSE, None)
    yield rest, None


def _block(piece: str) -> tuple[str, dict[str, Any]] | None:
    """Return the text before the block at the end of a piece, and its call, or ``None`` if there is no block.

    The block starts at the first opening tag if an argument contains another one, or at the last one if the text before
    it contains another one.
    """
    for start in dict.fromkeys((piece.find(CALL_OPEN), piece.rfind(CALL_OPEN))):
        if start >= 0 and (call := _call(piece[start + len(CALL_OPEN) :])) is not None:
            return piece[:start], call
    return None


def _call(text: str) -> dict[str, Any] | None:
    value = jsonio.value(text)
    return value if isinstance(value, dict) and "name" in value and "arguments" in value else None


def _result_id(message: Message) -> str:
    start = RESULT_START.match(str(message["content"]))
    return start[1].replace("&lt;", "<").replace("&quot;", '"') if start else ""
