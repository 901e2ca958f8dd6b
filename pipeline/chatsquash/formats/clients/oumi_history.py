"""Histories saved by Oumi's chat: branches with all of their messages."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.clients import oumi
from chatsquash.formats.clients.oumi import history
from chatsquash.formats.clients.oumi.history import dump as dump_all

NAME = "oumi_history"
HAS_TOOLS = False
MEMBERS = ("format", "conversation_history", "conversation")

conversations, every = oumi.conversations, oumi.every

LOSES = """
developer role, developer mid, image data, image between text, image url, audio, video, pdf, file id of OpenAI, file
id of Anthropic, tool call, text+call, no-arg call, args malformed, args non-object, args raw spacing, args
unicode/big, text after call, parallel calls, results reordered, sequential calls, same tool twice, empty result,
result json obj, result json list, result json-looking text, result image, result file, result parts, is_error, denied
result, approval, orphan result, unanswered call, user after result, reasoning+call, reasoning between, gemini call
sig, refusal, custom tool call, hosted call, unanswered hosted call, source
"""
BLURS = """
instructions, text part bounds, reasoning of two blocks, anthropic signature, anthropic redacted, openai encrypted,
native members
"""

__all__ = ["HAS_TOOLS", "NAME", "conversations", "dump", "dump_all", "every", "fits"]


def fits(objects: list[Json]) -> str | None:
    """Check whether all objects are histories."""
    return oumi.each_fits(objects, history.fits)


def dump(conversation: Conversation) -> Json:
    """Write a history with a single branch."""
    return dump_all([conversation])
