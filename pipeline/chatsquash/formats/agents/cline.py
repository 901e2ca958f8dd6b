"""Histories of Cline, Roo Code and Kilo Code: a list of Anthropic messages with marks for summarized ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy

from msgspec.structs import replace

from chatsquash.core.jsonio import value as parsed
from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.base import expect_list, expect_object
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, moment, session_folder
from chatsquash.formats.providers import anthropic
from chatsquash.formats.retention import never
from chatsquash.formats.threads import load_eras, text, with_unread
from chatsquash.formats.values import Object, as_list, at, count, objects, string, texts, total

NAME = "cline"
HAS_TOOLS = False
_FILES = ("api_conversation_history.json", "claude_messages.json")
_OTHER_FILES = ("ui_messages.json", "history_item.json", "task_metadata.json", "context_history.json")
_TASKS = "tasks/*/api_conversation_history.json"
LOCATIONS = (
    f"<config>/Code/User/globalStorage/saoudrizwan.claude-dev/{_TASKS}",
    f"<config>/Code/User/globalStorage/rooveterinaryinc.roo-cline/{_TASKS}",
    f"<config>/Code/User/globalStorage/kilocode.kilo-code/{_TASKS}",
    f"~/.cline/data/{_TASKS}",
)
RETENTION = never(
    "Cline",
    "cline/cline at 21cb8d25, RooCodeInc/Roo-Code at cb836567",
    "Kilo Code's extension deletes tasks if its auto-purge is enabled",
)

_TASK, _DETAILS = "<task>", "<environment_details>"
_PARENTS = (("condenseParent", "condenseId"), ("truncationParent", "truncationId"))
"""The member of a hidden message for the id of its replacement, and the member of the replacement for its own id."""
_MESSAGE = (
    *("role", "content", "ts", "id", "isSummary", "isTruncationMarker", "reasoning_content", "reasoning_details"),
    *(name for pair in _PARENTS for name in pair),
)
_REASONING = ("type", "summary", "text", "ts", "id")
_PROMPT_TOKENS = ("tokensIn", "cacheReads", "cacheWrites")
_MARKS = 50
"""The maximum number of summaries, counted from the end, before which the conversation is converted."""
_RANGE = "conversationHistoryDeletedRange"


def fits(values: list[Json]) -> str | None:
    """Check for a list of messages that begins with a task and describes the environment."""
    messages = values[0] if len(values) == 1 else None
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        return None
    first = [words for each in messages[:3] if each.get("role") == "user" for words in texts(each.get("content"))]
    is_task = bool(first) and first[0].lstrip().startswith(_TASK)
    return f"{_TASK} and {_DETAILS}" if is_task and any(_DETAILS in words for words in first) else None


def companions(name: str) -> str | None:
    """Return the name of the file with the displayed messages, which include token counts."""
    return _OTHER_FILES[0] if name in _FILES else None


def session(path: str, origin: Origin) -> str | None:
    """Return the name of the task's folder, which is its id."""
    del origin
    return session_folder(path) if path.rpartition("/")[2] in _FILES else None


def owner(path: str) -> str | None:
    """Return the history of the task that another file in its folder belongs to."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{_FILES[0]}" if name in _OTHER_FILES else None


def conversations(values: list[Json], meta: Json = None) -> list[Conversation]:
    """Return the conversation at the end, then the conversations before each summary and each truncation.

    ``meta`` contains the displayed messages.  Calls that older versions write as XML stay in the text.  Histories
    contain neither the system prompt nor the tools.
    """
    messages = expect_list(values[0] if values else [], "history is")
    unread = Unread()
    evidence = _evidence(messages, meta)
    turns = list(_turns(messages, evidence, unread))
    if not turns:
        return []
    eras = [*_eras(turns), *_ranges(_visible(turns, None), meta)]
    return with_unread(load_eras(anthropic, [[each.turn for each in era] for era in eras]), unread)


class _HistoryTurn:
    def __init__(self, message: Object, turn: LoggedTurn) -> None:
        self.turn = turn
        self.hidden_by = {text(message.get(parent)) for parent, _ in _PARENTS} - {None}
        self.names = {text(message.get(name)) for _, name in _PARENTS if message.get(name) is not None} - {None}
        self.is_mark = message.get("isSummary") is True or message.get("isTruncationMarker") is True

    def with_content(self, content: Json) -> _HistoryTurn:
        changed = copy(self)
        changed.turn = replace(self.turn, turn={**self.turn.turn, "content": content})
        return changed


def _turns(messages: list[Json], evidence: list[Evidence], unread: Unread) -> Iterator[_HistoryTurn]:
    thoughts = list[str]()
    for place, message in enumerate(messages):
        where = f"message {place + 1}"
        expect_object(message, f"{where} is")
        if message.get("type") == "reasoning" and "role" not in message:
            unread.count_members("reasoning", message, *_REASONING)
            thoughts += _thoughts(message)
            continue
        unread.count_members("message", message, *_MESSAGE)
        turn: Object = {"role": message.get("role"), "content": message.get("content")}
        if message.get("role") == "assistant":
            thoughts += [words] if (words := text(message.get("reasoning_content"))) else []
            thoughts += [words for each in objects(message.get("reasoning_details")) if (words := string(each, "text"))]
            turn["content"] = _with_thoughts(thoughts, message.get("content"))
            thoughts = []
        yield _HistoryTurn(message, LoggedTurn(where, turn, evidence[place]))


def _thoughts(item: Object) -> list[str]:
    words = text(item.get("text"))
    return [words] if words else [string(each, "text") for each in objects(item.get("summary")) if string(each, "text")]


def _with_thoughts(thoughts: list[str], content: Json) -> Json:
    if not thoughts:
        return content
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    # The content already contains the reasoning.
    if any(each.get("type") == "thinking" for each in objects(blocks)):
        return blocks
    return [{"type": "thinking", "thinking": "\n\n".join(thoughts)}, *blocks]


def _eras(turns: list[_HistoryTurn]) -> Iterator[list[_HistoryTurn]]:
    """Yield the turns before each summary and each truncation."""
    # A conversation without a reply is not worth converting.
    first = next((place for place, each in enumerate(turns) if each.turn.evidence.is_sampled), len(turns))
    marks = [place for place, each in enumerate(turns) if each.is_mark and each.names and place > first]
    for place in marks[-_MARKS:]:
        yield _visible(turns, place)


def _visible(turns: list[_HistoryTurn], until: int | None) -> list[_HistoryTurn]:
    """Return the messages before a place, except those hidden by a mark."""
    earlier = turns[:until]
    marks = {name for each in earlier if each.is_mark for name in each.names}
    return [each for each in earlier if not each.hidden_by & marks]


def _ranges(turns: list[_HistoryTurn], meta: Json) -> Iterator[list[_HistoryTurn]]:
    """Yield the turns before each deletion of a range, up to the end of the range, and the turns at the end."""
    ranges = dict.fromkeys(spot for each in objects(meta) if (spot := _range(each.get(_RANGE), len(turns))))
    previous: tuple[int, int] | None = None
    for cut in [*ranges][-_MARKS:]:
        yield _without(turns[: cut[1] + 1], previous)
        previous = cut
    yield _without(turns, previous)


def _range(value: Json, most: int) -> tuple[int, int] | None:
    """Return the indices of the first and the last deleted message, or ``None`` for an invalid range."""
    if not isinstance(value, list) or len(value) != 2 or not all(type(each) is int for each in value):
        return None
    first, last = value
    return (first, last) if 0 <= first <= last < most - 1 else None


def _without(turns: list[_HistoryTurn], cut: tuple[int, int] | None) -> list[_HistoryTurn]:
    """Return the messages outside a range, without results whose calls were deleted."""
    if cut is None:
        return turns
    call_ids, remaining_turns = set[str](), list[_HistoryTurn]()
    for each in [*turns[: cut[0]], *turns[cut[1] + 1 :]]:
        turn = each.turn.turn
        call_ids |= {string(block, "id") for block in objects(turn["content"]) if block.get("type") == "tool_use"}
        blocks = turn["content"]
        if isinstance(blocks, list):
            blocks = [block for block in blocks if not _is_orphan(block, call_ids)]
        if blocks or not turn["content"]:
            remaining_turns.append(each.with_content(blocks))
    return remaining_turns


def _is_orphan(block: Json, call_ids: set[str]) -> bool:
    return at(block, "type") == "tool_result" and string(block, "tool_use_id") not in call_ids


def _evidence(messages: list[Json], meta: Json) -> list[Evidence]:
    """Return the evidence for each message."""
    requests = [_tokens(each) for each in objects(meta) if each.get("say") == "api_req_started"]
    replies = sum(at(each, "role") == "assistant" for each in messages)
    # Requests do not refer to messages, so they are matched with replies only if their numbers are equal.
    token_counts: Iterable[tuple[int | None, int | None]] = (
        requests if len(requests) == replies else [(None, None)] * replies
    )
    tokens = iter(token_counts)
    evidence = list[Evidence]()
    for each in messages:
        time = moment(at(each, "ts"))
        if at(each, "role") == "assistant":
            evidence.append(Evidence(1, time, True, None, *next(tokens)))
        else:
            evidence.append(Evidence(1, time))
    return evidence


def _tokens(message: Object) -> tuple[int | None, int | None]:
    counts = parsed(string(message, "text"))
    return total(counts, *_PROMPT_TOKENS), count(at(counts, "tokensOut"))
