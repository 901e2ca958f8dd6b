"""The standard envelope: a request and its response, which ``exchange`` splits."""

from __future__ import annotations

from chatsquash.reading.members import Members

NAME = "request and response"
WHAT = "`{timestamp, session_id, request, response}`"
NEEDS = (frozenset(("request",)),)
SESSION = ("session_id", "litellm_session_id", "trace_id", "litellm_trace_id")
SESSION_MEMBERS = ("session_id", "sessionId", "conversation_id", "conversationId", "chat_id")
"""The members in which clients send a session id as metadata for gateway logs."""
MIXES = False
unwrap = None


def fits(line: Members) -> bool:
    """Return whether a line has a request; a request of a Gemini batch does not count."""
    return "request" in line and not (len(line) == 2 and "key" in line)
