"""Which assistant messages of the records of a session are to be trained on, and why not the others."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from msgspec import Struct

from chatsquash.checks.registry import View
from chatsquash.checks.results import corrected
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation, Json, Mark, Message, OriginReply
from chatsquash.trees.account import Placement, counting_placements
from chatsquash.trees.documents import FilePath
from chatsquash.trees.paths import P
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.trees import Trees

NOT_LOGGED = "not-logged"
"""No logged reply is this message: the client made it up, or the log does not say who did."""
REWRITTEN = "rewritten"
"""The client put another wording in the place of a logged reply."""
TRUNCATED_REPLY = "truncated"
"""The reply reached its limit, met a filter or broke off."""
MALFORMED = "malformed-call"
"""A call of the reply has arguments that are not a JSON object."""
ERROR = "error-text"
"""The reply is an error that the client or a proxy logged as one."""
RESTORED = "context-restored"
"""The record shows what the request of the reply lacked."""
CLEARED = "context-cleared"
"""The record shows what the service removed from the request before the model saw it."""
MISSING = "context-missing"
"""The reply saw messages that are not logged."""
FAILED = "failed-call"
"""A call of the reply failed and was then corrected."""
SIDE = "side-request"
"""The client asked for the reply itself, as for a title."""
ELSEWHERE = "other-record"
"""The reply is trained on in another record of the session."""


class Judge(Struct, frozen=True):
    """Tells which replies are to be trained on."""

    restores: bool = False
    """Whether replies are left out that did not see what their record shows."""
    skips_failed: bool = False
    """Whether calls are left out that failed and were then corrected."""
    skips_side: bool = False
    """Whether replies to the client's own requests are left out."""
    shows_reasoning: bool = True
    """Whether records have reasoning, without which a reply whose request lacked only that saw what they show."""

    def of_trees(
        self, trees: Trees, paths: list[LogPath], placements: list[Placement[LogPath]], written: list[Container[int]]
    ) -> list[list[Mark]]:
        """The marks of the assistant messages of each conversation; ``written`` is as in ``bearers``."""
        owners = {reply.number: path for path in paths for reply in path.own}
        whys = self.whys(trees)
        borne: list[set[int]] = [set() for _ in placements]
        for reply, index in counting_placements(placements, written, owners).items():
            borne[index].add(reply)
        return [self._marks(*each, whys, trees) for each in zip(placements, borne, strict=True)]

    def whys(self, trees: Trees) -> list[str]:
        """Why each reply is not trained on, wherever it stands; empty for those that are."""
        says_ends = any(reply.is_ended for reply in trees.replies)
        return [self._why(reply, says_ends=says_ends) for reply in trees.replies]

    def of_file(
        self, placement: Placement[FilePath], replies: Sequence[OriginReply], own: Container[int]
    ) -> list[Mark]:
        """The marks of a file's conversation; ``replies`` are those that the file has of it, ``own`` those to count."""
        messages = placement.messages
        cut = {each.at for each in replies if chat.is_truncated(each.finish_reason)}
        lacking = {each.at for each in replies if each.lacks_context or placement.path.origin.lacks_context}
        whys: dict[int, str] = {}
        others: dict[int, str] = {}
        for reply, standing in placement.positions.items():
            at = placement.assistants[standing.ordinal]
            lost = MISSING if at in lacking else ""
            whys[standing.ordinal] = TRUNCATED_REPLY if at in cut else _flaw(messages[at]) or lost
            others[standing.ordinal] = ELSEWHERE if reply not in own else REWRITTEN if standing.is_rewritten else ""
        marks = self._with_failed(
            placement, whys, {reply.number: reply.evidence.model or "" for reply in placement.path.replies}
        )
        return [mark._replace(why=mark.why or others.get(number, "")) for number, mark in enumerate(marks)]

    def _marks(self, placement: Placement[LogPath], borne: set[int], whys: list[str], trees: Trees) -> list[Mark]:
        """The marks of a conversation that some replies count in, given why each reply is not trained on.

        A message that begins with text of the client is not a logged reply.
        """
        whys_here: dict[int, str] = {}
        for reply, standing in placement.positions.items():
            elsewhere = "" if reply in borne else ELSEWHERE
            changed = NOT_LOGGED if trees.replies[reply].is_prefilled else REWRITTEN
            whys_here[standing.ordinal] = changed if standing.is_rewritten else whys[reply] or elsewhere
        return self._with_failed(placement, whys_here, dict(enumerate(trees.models)))

    def _with_failed(self, placement: Placement[P], whys: dict[int, str], models: Mapping[int, str]) -> list[Mark]:
        """The marks of the assistant messages, given why some are not trained on, by their index among them.

        ``models`` are those that gave the replies, by number.
        """
        wrote = {standing.ordinal: models[reply] for reply, standing in placement.positions.items()}
        failed = corrected(View(Conversation(placement.messages, []))) if self.skips_failed else set()
        side = SIDE if self.skips_side and placement.path.kind == "side" else ""
        return [
            Mark(
                (ordinal,),
                whys.get(ordinal, NOT_LOGGED) or (FAILED if at in failed else side),
                model=wrote.get(ordinal, ""),
            )
            for ordinal, at in enumerate(placement.assistants)
        ]

    def _why(self, reply: Reply, *, says_ends: bool) -> str:
        """Why a reply is not trained on, wherever it stands."""
        if reply.is_limited or reply.is_retried or reply.broke_off(says_ends=says_ends):
            return TRUNCATED_REPLY
        if flaw := _flaw(reply.message):
            return flaw
        if reply.cleared and (self.shows_reasoning or reply.cleared != chat.THINKING):
            return CLEARED
        return RESTORED if self.restores and reply.lacks else ""


def _flaw(message: Message) -> str:
    """Why a message is not trained on, whatever else is known of the reply; empty if it may be."""
    if any(map(chat.is_malformed, chat.calls(message))):
        return MALFORMED
    return ERROR if is_error(message) else ""


_LONGEST_ERROR = 2000
"""Characters that such a text has at most."""
_ERROR_BEGINNING = re.compile(
    r"""\A\[?(?:
    (?i:api[ ]error|error[ ]code)\b:?[ ]
    |(?i:(?:http|status)[ ](?:error[ ])?[45]\d\d)\b
    |[45]\d\d[ ](?:\{|(?i:bad[ ]request|unauthorized|forbidden|not[ ]found|too[ ]many[ ]requests
        |internal[ ]server[ ]error|bad[ ]gateway|service[ ]unavailable|gateway[ ]time-?out)\b)
    |(?:[a-z_]\w*+\.)++[A-Z]\w{0,80}(?:Error|Exception):[ ]
    |(?:RateLimit|BadRequest|Authentication|PermissionDenied|NotFound|InternalServer|APIConnection|APITimeout|APIStatus
        |API|Overloaded|ServiceUnavailable|ContextWindowExceeded)Error(?::[ ]|\Z)
    |(?i:connection[ ]error|request[ ]timed[ ]out|request[ ]was[ ]aborted|overloaded)\.?\Z
    |(?i:ran[ ]into[ ]this[ ]error|upstream[ ](?:connect[ ])?error)\b
    )""",
    re.VERBOSE,
)


def is_error(message: Message) -> bool:
    """Whether an assistant message is such an error."""
    if chat.has_calls(message):
        return False
    text = (chat.text(message) or "").strip()
    if not text or len(text) > _LONGEST_ERROR:
        return False
    return _is_error_body(text) if text.startswith("{") else _ERROR_BEGINNING.match(text) is not None


def _is_error_body(text: str) -> bool:
    """Whether a text is what a service answers where it fails."""
    value: Json = jsonio.value(text)
    error = value.get("error") if value else None
    return isinstance(error, dict) and isinstance(error.get("message"), str)
