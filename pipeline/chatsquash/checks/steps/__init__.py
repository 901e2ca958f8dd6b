"""Facts about the replies of a conversation that are visible in its messages; docs/conversations.md defines them."""

from __future__ import annotations

from chatsquash.checks.registry import View
from chatsquash.checks.results import corrected
from chatsquash.checks.steps.claims import unfounded_claims
from chatsquash.checks.steps.conversation import turns
from chatsquash.checks.steps.edits import edits
from chatsquash.checks.steps.history import reads_future
from chatsquash.checks.steps.reactions import asked_again, denied, interrupted
from chatsquash.checks.steps.repetition import failures_repeated, loops, repeated_calls
from chatsquash.checks.steps.reverts import reverted_edits


def find_steps(view: View) -> dict[int, frozenset[str]]:
    """Return the facts about each assistant message by its index; messages without facts are missing.

    The facts are ``failed_call``, ``repeated_call``, ``loop``, ``undone``, ``ignored_result``, ``asked_again``,
    ``interrupted``, ``denied`` and ``reads_future``.
    """
    steps, requests = turns(view)
    all_edits = edits(steps)
    facts: dict[int, set[str]] = {}
    places = {
        "failed_call": corrected(view),
        "repeated_call": repeated_calls(steps, {edit.at for edit in all_edits if not edit.is_read}),
        "loop": loops(steps),
        "undone": reverted_edits(all_edits),
        "ignored_result": [*failures_repeated(steps), *unfounded_claims(steps)],
        "asked_again": asked_again(steps, requests),
        "interrupted": interrupted(steps),
        "denied": denied(steps),
        "reads_future": reads_future(view, steps),
    }
    for name, messages in places.items():
        for at in messages:
            facts.setdefault(at, set()).add(name)
    return {at: frozenset(names) for at, names in sorted(facts.items())}
