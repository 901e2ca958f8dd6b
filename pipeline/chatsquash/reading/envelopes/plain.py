"""The envelope that is read: a request and its response, as ``exchange`` splits it."""

from __future__ import annotations

from chatsquash.reading.members import Members

NAME = "request and response"
WHAT = "`{timestamp, session_id, request, response}`"
NEEDS = (frozenset(("request",)),)
SESSION = ("session_id", "litellm_session_id", "trace_id", "litellm_trace_id")
NAMED = ("session_id", "sessionId", "conversation_id", "conversationId", "chat_id")
"""The members by which clients name a session in what gateways take for the log alone."""
MIXES = False
unwrap = None


def fits(line: Members) -> bool:
    """Whatever has a request and no envelope of its own, but a request of a batch of Gemini."""
    return "request" in line and not (len(line) == 2 and "key" in line)
