"""OpenAI Responses: requests and responses are lists of items.

An item is smaller than a turn: reasoning, text and calls are separate items.  The assistant's items up to the next
item of another role form one turn; until then, the state contains them as open items.
"""

from chatsquash.formats.providers.openai_responses.compaction import is_compaction, visible_turns
from chatsquash.formats.providers.openai_responses.definitions import tools, turn_tools
from chatsquash.formats.providers.openai_responses.evidence import marks
from chatsquash.formats.providers.openai_responses.items import PROVIDER
from chatsquash.formats.providers.openai_responses.read import START, close, load, system
from chatsquash.formats.providers.openai_responses.response import reply, reply_turns
from chatsquash.formats.providers.openai_responses.stream import assemble
from chatsquash.formats.providers.openai_responses.write import dump

NAME = "openai_responses"
PLACE = 20
TURNS = "input"
SYSTEM = ("instructions",)
TOOLS = ("tools",)
REFERS = ("previous_response_id", "conversation")
ECHOES = True
READS = ("output", "status", "object", "incomplete_details")

LOSES = """
audio, video, approval, asst asst, reasoning, reasoning+call, reasoning of two blocks, reasoning between, anthropic
signature, refusal, hosted call, unanswered hosted call, source
"""
"""The kinds of content that lose information when written, by their names in ``docs/formats.md``."""
BLURS = """
file id of Anthropic, result json obj, result json list, is_error, denied result, anthropic redacted, gemini call sig,
native members
"""
"""The kinds of content that lose only their place, boundaries or marks."""

__all__ = [
    "PROVIDER",
    "START",
    "assemble",
    "close",
    "dump",
    "is_compaction",
    "load",
    "marks",
    "reply",
    "reply_turns",
    "system",
    "tools",
    "turn_tools",
    "visible_turns",
]
