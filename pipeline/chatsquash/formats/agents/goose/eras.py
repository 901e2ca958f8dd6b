"""What goose's compactions divide a session into."""

from __future__ import annotations

from chatsquash.formats.evidence import Turn
from chatsquash.formats.values import at
from chatsquash.model import Json


def is_visible(message: Json) -> bool:
    """Whether the model sees a message now."""
    return at(message, "metadata", "agentVisible") is not False


def is_given(message: Json) -> bool:
    """Whether goose wrote a message for the model alone: a summary, or what it says behind one."""
    return at(message, "metadata", "userVisible") is False


def eras(turns: list[Turn]) -> list[list[Turn]]:
    """The messages before the first compaction, those behind it, and so on, each beginning with the summary.

    A compaction hides all messages that were there, and adds a summary in the user's name with an answer to it.  What
    stands for a single call and its result is in the user's name, too, and has no answer.
    """
    found: list[list[Turn]] = [[]]
    hides = True
    for place, each in enumerate(turns):
        hides_all = hides and is_visible(each.turn)
        behind = turns[place + 1].turn if place + 1 < len(turns) else None
        is_answered = is_given(behind) and at(behind, "role") == "assistant"  # by goose itself
        if _is_summary(turns, place) and (hides_all or is_answered):
            found.append([])
        hides = hides and not is_visible(each.turn)
        found[-1].append(each)
    return found


def passed(era: list[Turn]) -> list[Turn]:
    """What the model was told before a compaction; what stands for a single call there stands beside it."""
    given = next((place for place, each in enumerate(era) if not is_given(each.turn)), len(era))
    return [*era[:given], *(each for each in era[given:] if not is_given(each.turn))]


def _is_summary(turns: list[Turn], place: int) -> bool:
    """Whether a message stands for others; of several that goose wrote one after the other only the first does."""
    message = turns[place].turn
    begins = place > 0 and not is_given(turns[place - 1].turn)
    return begins and is_given(message) and at(message, "role") == "user"
