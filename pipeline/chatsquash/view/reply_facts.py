"""The time, model and tokens of each reply of a record, from its log."""

from __future__ import annotations

from chatsquash.core.text import escape
from chatsquash.core.times import stamp
from chatsquash.view.conversation import Conversation
from chatsquash.view.logs import LoggedSession, Rows
from chatsquash.view.watching import ReplyFacts

_MOST = 5_000
"""Replies of a record whose facts are returned."""
_NAME = 60


def reply_facts(conversation: Conversation, session_log: LoggedSession, rows: Rows) -> dict[int, ReplyFacts]:
    """Return the logged facts about the replies of a record, by the indices of their messages in the file."""
    if conversation.facts.get("sample") is not None:  # whose messages have other places
        return {}
    return (
        _of_file(conversation, session_log) if session_log.messages else _of_requests(conversation, session_log, rows)
    )


def _of_requests(conversation: Conversation, session_log: LoggedSession, rows: Rows) -> dict[int, ReplyFacts]:
    """Match replies by the line of their request and by their position in the record."""
    by_line = {row.line: row.facts for row in session_log.rows if row.is_read}
    facts: dict[int, ReplyFacts] = {}
    for reply in session_log.replies:
        places = [(reply.record, reply.message), *((each.record, each.message) for each in reply.others)]
        for record, message in places:
            is_shown = record is not None and rows.get(record) == conversation.at
            if is_shown and message is not None and reply.line in by_line and len(facts) < _MOST:
                facts[message] = by_line[reply.line]
    return facts


def _of_file(conversation: Conversation, session_log: LoggedSession) -> dict[int, ReplyFacts]:
    """Match the replies of an agent's file in order, if the record has the same number."""
    facts_of_replies = [row.facts for row in session_log.messages if row.role == "assistant"]
    said = [at for at, message in enumerate(conversation.record.messages) if message["role"] == "assistant"]
    if len(facts_of_replies) != len(said):
        return {}
    return {conversation.number(at): facts for at, facts in zip(said[:_MOST], facts_of_replies, strict=False) if facts}


def facts_text(facts: ReplyFacts) -> str:
    """Return the facts about a reply as text: its time, model and tokens."""
    time = "" if facts.at is None else stamp(facts.at)[:-1].replace("T", " ")
    input_tokens = "" if facts.prompt_tokens is None else f"{facts.prompt_tokens:,} tokens in"
    output_tokens = "" if facts.completion_tokens is None else f"{facts.completion_tokens:,} tokens out"
    model = escape(facts.model or "")[:_NAME]
    return ", ".join(filter(None, (time, model, input_tokens, output_tokens)))
