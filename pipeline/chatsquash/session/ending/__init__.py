"""How a conversation ended, as far as its log tells: what a filter or a reward model asks first."""

from __future__ import annotations

from chatsquash.checks.registry import View
from chatsquash.core import chat
from chatsquash.core.model import Origin, Reply
from chatsquash.core.outcome import Ending
from chatsquash.core.text import printable
from chatsquash.session.ending.commands import last_exit
from chatsquash.session.ending.users import last_word

_LONGEST = 64
"""Characters of a reason that are kept, which may be any text."""


def ending(view: View, reply: Reply, origin: Origin | None = None) -> Ending:
    """How a conversation ended: ``view`` is of its messages as they were logged, ``reply`` its last one."""
    finish, told, truncated, why = _finished(reply)
    reward, rewarded = (origin.reward, origin.reward_evidence) if origin else (None, None)
    return Ending(*last_exit(view), reward, rewarded, finish, told, truncated, why, *last_word(view))


def _finished(reply: Reply) -> tuple[str | None, str | None, bool | None, str | None]:
    """Why a reply ended, and whether it was cut off, each with its evidence; ``None`` for what nobody logged."""
    reason = None if reply.finish_reason is None else printable(reply.finish_reason[:_LONGEST])
    told = None if reason is None else "finish reason of the last reply"
    if reply.cut:
        return reason, told, True, "the stream of the last reply broke off"
    if reason is None:
        return None, None, None, None
    return reason, told, reason in chat.TRUNCATED, told
