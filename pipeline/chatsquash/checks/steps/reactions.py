"""Reactions of the user to replies: a repeated request, an interruption, or a denied call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from chatsquash.checks.denials import is_denied
from chatsquash.checks.steps.client_texts import is_interrupted_result, is_interruption
from chatsquash.checks.steps.conversation import Step, UserRequest
from chatsquash.checks.steps.requests import is_repetition
from chatsquash.core import chat

_INTERRUPTED_TEXT = "[response interrupted by user]"
"""The end of a reply that was interrupted in Cline."""


def denied(steps: list[Step]) -> Iterator[int]:
    """Yield replies with a call that the user denied."""
    for step in steps:
        if any(is_denied(result) for call in step.calls for result in call.results):
            yield step.at


def interrupted(steps: list[Step]) -> Iterator[int]:
    """Yield replies that were interrupted, or a call of which was."""
    for step in steps:
        results = [result for call in step.calls for result in call.results]
        if (
            any(chat.outcome(each) == "interrupted" or is_interrupted_result(chat.text(each) or "") for each in results)
            or any(each.get("role") == "user" and is_interruption(chat.text(each) or "") for each in step.following)
            or step.text[-100:].lower().endswith(_INTERRUPTED_TEXT)
        ):
            yield step.at


def asked_again(steps: list[Step], requests: list[UserRequest]) -> Iterator[int]:
    """Yield the last replies of turns after which the user repeats the previous request.

    Some clients add the request again after the results of calls, which the model has not answered yet.
    """
    unanswered = {step.at for step in steps if step.calls and all(call.state == "ok" for call in step.calls)}
    unanswered.difference_update(denied(steps), interrupted(steps))
    for before, request in pairwise(requests):
        step = steps[request.step] if request.step >= 0 else None
        if step is None or step.at in unanswered or before.attachments != request.attachments:
            continue
        if is_repetition(before.text, request.text):
            yield step.at
