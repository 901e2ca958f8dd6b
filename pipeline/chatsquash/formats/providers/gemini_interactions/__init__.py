"""Gemini's Interactions API: requests and responses are lists of steps."""

from chatsquash.formats.providers.gemini import system
from chatsquash.formats.providers.gemini_interactions.evidence import accepts, marks
from chatsquash.formats.providers.gemini_interactions.read import START, close, load, tools, turn_tools
from chatsquash.formats.providers.gemini_interactions.response import reply, reply_turns
from chatsquash.formats.providers.gemini_interactions.stream import assemble

NAME = "gemini_interactions"
PLACE = 15
TURNS = "input"
SYSTEM = ("system_instruction",)
TOOLS = ("tools",)
REFERS = ("previous_interaction_id",)
ECHOES = True
READS = ("steps", "status", "object", "errors")

__all__ = [
    "START",
    "accepts",
    "assemble",
    "close",
    "load",
    "marks",
    "reply",
    "reply_turns",
    "system",
    "tools",
    "turn_tools",
]
