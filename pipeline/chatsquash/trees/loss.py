"""Decide which assistant messages in the records of a session are trained on, and why others are not."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from chatsquash.core import chat, jsonio
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json, Mark, Message, OriginReply
from chatsquash.core.options import Options
from chatsquash.trees.account import Placement, counting_placements
from chatsquash.trees.paths import GrowingRequest, LoggedReply, P
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.trees import Trees

if TYPE_CHECKING:
    from chatsquash.trees.documents import FilePath

NOT_LOGGED = "not-logged"
"""The message is not a logged reply: the client wrote it, or the log does not contain its origin."""
REWRITTEN_REPLY = "rewritten"
"""The client changed the wording of the reply."""
TRUNCATED_REPLY = "truncated"
"""The reply reached its limit, triggered a filter or was interrupted."""
MALFORMED = "malformed-call"
"""A call of the reply has arguments that are not a JSON object."""
ERROR = "error-text"
"""The text is an error that the client or a proxy logged as a reply."""
RESTORED = "context-restored"
"""The record contains content that was missing from the request of the reply."""
CLEARED = "context-cleared"
"""The record contains content that the service removed before the model saw the request."""
MISSING = "context-missing"
"""The model saw messages that are not logged."""
OTHER_MODEL = "other-model"
"""The reply is from a model that ``--loss-model`` does not select, or from an unknown one."""
SIDE = "side-request"
"""The client requested the reply for itself, for example as a title."""
LABEL = "label"
"""A row of ``--loss-labels`` says so."""
ELSEWHERE = "other-record"
"""The reply is trained on in another record of the session."""
REASONS = {kind: kind.replace("_", "-") for kind in STEP_FACTS}
"""The reasons for not training on replies with step facts."""


class Judge(Struct, frozen=True):
    """Decides which assistant messages are trained on."""

    restores: bool = False
    """Whether to skip replies that were sampled with less context than their record contains."""
    models: tuple[str, ...] = ()
    """Globs for the models whose replies are trained on; empty for all models."""
    facts: frozenset[str] = frozenset()
    """The step facts of replies that are not trained on."""
    skips_side: bool = False
    """Whether to skip replies to the client's own requests."""
    shows_reasoning: bool = True
    """Whether records contain reasoning; without it, a request that is only missing reasoning is complete."""

    def of_trees(
        self,
        trees: Trees,
        paths: list[LogPath],
        placements: list[Placement[LogPath]],
        written_ordinals: list[Container[int]],
    ) -> list[list[Mark]]:
        """Return the marks of each conversation's assistant messages; see ``counting_placements`` for the arguments."""
        owners = {reply.number: path for path in paths for reply in path.own}
        flaws = self.reasons(trees)
        own_replies: list[set[int]] = [set() for _ in placements]
        for reply, index in counting_placements(placements, written_ordinals, owners).items():
            own_replies[index].add(reply)
        marks = []
        for placement, own in zip(placements, own_replies, strict=True):
            whys: dict[int, str] = {}
            for number, position in placement.positions.items():
                # A message that begins with text of the client is not a logged reply.
                changed = NOT_LOGGED if trees.replies[number].is_prefilled else REWRITTEN_REPLY
                elsewhere = "" if number in own else ELSEWHERE
                whys[number] = changed if position.is_rewritten else flaws[number] or elsewhere
            marks.append(with_weights(self._marks(placement, whys, trees.replies), placement, trees.replies))
        return marks

    def reasons(self, trees: Trees) -> list[str]:
        """Return why each reply is not trained on, regardless of the record, or an empty string if it is."""
        has_finish_reasons = any(reply.is_ended for reply in trees.replies)
        return [self._why(reply, has_finish_reasons=has_finish_reasons) for reply in trees.replies]

    def of_growing(self, requests: list[GrowingRequest]) -> list[Mark]:
        """Return the marks of the assistant messages of a session that only grew, if each of them is a reply."""
        has_finish_reasons = any(each.is_ended for each in requests)
        marks: list[Mark] = []
        for ordinal, each in enumerate(requests):
            assert each.message is not None
            is_truncated = each.is_truncated(has_finish_reasons=has_finish_reasons)
            why = TRUNCATED_REPLY if is_truncated else self._flaw(each.message, each.cleared)
            marks.append(Mark((ordinal,), why or self._exclusion_of_model(each.model), model=each.model))
        return marks

    def of_file(
        self, placement: Placement[FilePath], replies: Sequence[OriginReply], own: Container[int]
    ) -> list[Mark]:
        """Return the marks of a conversation from its evidence of replies; ``own`` are the replies that count in it."""
        messages = placement.messages
        cut = {each.at for each in replies if chat.is_truncated(each.finish_reason)}
        without_context = {each.at for each in replies if each.lacks_context or placement.path.origin.lacks_context}
        whys: dict[int, str] = {}
        others: dict[int, str] = {}
        for reply, position in placement.positions.items():
            at = placement.assistants[position.ordinal]
            missing = MISSING if at in without_context else ""
            whys[reply] = TRUNCATED_REPLY if at in cut else _flaw(messages[at]) or missing
            others[position.ordinal] = (
                ELSEWHERE if reply not in own else REWRITTEN_REPLY if position.is_rewritten else ""
            )
        marks = self._marks(placement, whys, {reply.number: reply for reply in placement.path.replies})
        marks = [mark._replace(why=mark.why or others.get(number, "")) for number, mark in enumerate(marks)]
        return with_weights(marks, placement, placement.path.replies)

    def _marks(
        self,
        placement: Placement[P],
        whys: Mapping[int, str],
        replies: Mapping[int, LoggedReply] | Sequence[LoggedReply],
    ) -> list[Mark]:
        """Return the marks of the assistant messages.

        Args:
            placement: The conversation.
            whys: The reasons for not training on the replies, by number, regardless of models and step facts.
            replies: The replies, by number.
        """
        side = SIDE if self.skips_side and placement.path.kind == "side" else ""
        numbers = {position.ordinal: number for number, position in placement.positions.items()}
        marks = [Mark((ordinal,), NOT_LOGGED) for ordinal in placement.all_ordinals]
        for ordinal, number in numbers.items():
            reply = replies[number]
            why = whys[number] or self.exclusion(reply) or side
            marks[ordinal] = Mark((ordinal,), why, model=reply.model)
        return marks

    def exclusion(self, reply: LoggedReply) -> str:
        """Return why a reply is excluded because of its model or a step fact, or an empty string."""
        other_model = self._exclusion_of_model(reply.model)
        return other_model or next((REASONS[kind] for kind in reply.facts if kind in self.facts), "")

    def _exclusion_of_model(self, model: str) -> str:
        # The name of an unknown model is empty, which even the glob "*" would match.
        is_selected = not self.models or (model and any(fnmatchcase(model, glob) for glob in self.models))
        return "" if is_selected else OTHER_MODEL

    def _why(self, reply: Reply, *, has_finish_reasons: bool) -> str:
        """Return why a reply is not trained on, regardless of the record."""
        if reply.is_limited or reply.is_retried or reply.is_interrupted(has_finish_reasons=has_finish_reasons):
            return TRUNCATED_REPLY
        return self._flaw(reply.message, reply.cleared) or (RESTORED if self.restores and reply.has_gaps else "")

    def _flaw(self, message: Message, cleared: str) -> str:
        """Return why a complete reply is not trained on: its message, or content that the service ``cleared``."""
        if flaw := _flaw(message):
            return flaw
        return CLEARED if cleared and (self.shows_reasoning or cleared != chat.THINKING) else ""


def with_labels(reasons: list[str], replies: Iterable[LoggedReply]) -> list[str]:
    """Return the reasons for not training on the replies of a session, including their labels."""
    return [why or (LABEL if reply.weight == 0 else "") for why, reply in zip(reasons, replies, strict=True)]


def weights_of(replies: Iterable[LoggedReply]) -> dict[int, float]:
    """Return the weights of the replies with labels, by number."""
    return {reply.number: reply.weight for reply in replies if reply.weight is not None}


def with_weights(marks: list[Mark], placement: Placement[P], replies: Iterable[LoggedReply]) -> list[Mark]:
    """Return marks with the weights of replies according to labels, which never make an excluded reply trained on."""
    weights = weights_of(replies)
    if not weights:
        return marks
    result = marks.copy()
    for number, position in placement.positions.items():
        if (weight := weights.get(number)) is not None:
            mark = marks[position.ordinal]
            result[position.ordinal] = mark._replace(why=mark.why or ("" if weight else LABEL), weight=weight)
    return result


def judge_of(options: Options) -> Judge:
    """Return the judge that excludes the replies which options exclude from training."""
    return Judge(models=options.loss_model, facts=options.skipped_facts, skips_side=options.loss_skip_side)


def _flaw(message: Message) -> str:
    """Return why the message itself is not trained on, or an empty string if nothing is wrong with it."""
    if any(map(chat.is_malformed, chat.calls(message))):
        return MALFORMED
    return ERROR if is_error(message) else ""


_LONGEST_ERROR = 2000
"""The maximum length of an error text in characters."""
_ERROR_BEGINNING = lazy_compile(
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
    """Return whether an assistant message is an error text."""
    if chat.has_calls(message):
        return False
    text = (chat.text(message) or "").strip()
    if not text or len(text) > _LONGEST_ERROR:
        return False
    return _is_error_body(text) if text.startswith("{") else _ERROR_BEGINNING.match(text) is not None


def _is_error_body(text: str) -> bool:
    """Return whether a text is the error body of a service."""
    value: Json = jsonio.value(text)
    error = value.get("error") if value else None
    return isinstance(error, dict) and isinstance(error.get("message"), str)
