"""Conversations through formats: what is written, what is told as lost, and what is read again."""

import chatsquash
from chatsquash.translate import conversations

DUMPED = [name for name in conversations.writable_formats() if name != "oumi_history"]


def translated(document, to, source=None):
    """A document in another format."""
    return chatsquash.dump(chatsquash.load(document, source), to)


def lost(document, to, source=None):
    return list(chatsquash.losses(chatsquash.load(document, source), to))


def through(held, *names):
    """The turns of a conversation that was written in these formats, each read before it is written in the next."""
    for name in names:
        held = chatsquash.load(chatsquash.dump(held, name), name)
    return list(held.turns)


def inside(value):
    """A value and all that is in it."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in held for part in inside(each))]


def keys(value):
    return {key for each in inside(value) if isinstance(each, dict) for key in each}
