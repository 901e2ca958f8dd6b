"""Histories that Oumi's chat saves: branches, each with all of its messages."""

from __future__ import annotations

from chatsquash.formats.clients import oumi
from chatsquash.formats.clients.oumi import history
from chatsquash.formats.clients.oumi.history import dump as dump_all
from chatsquash.model import Conversation, Json

NAME = "oumi_history"
HOLDS_TOOLS = False
MEMBERS = ("format", "conversation_history", "conversation")

conversations, every = oumi.conversations, oumi.every

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "dump_all", "every", "fits"]


def fits(objects: list[Json]) -> str | None:
    """Objects that are all histories."""
    return oumi.each_fits(objects, history.fits)


def dump(conversation: Conversation) -> Json:
    """A history with one branch."""
    return dump_all([conversation])
