"""OpenAI Responses: items in and out, and the events that a streamed response comes in.

One item is less than one message: reasoning, text and calls are items of their own.  The assistant's items up to the
next item of somebody else are one message, so they are kept open in the state until that comes.
"""

from chatsquash.formats.openai_responses.definitions import tools, turn_tools
from chatsquash.formats.openai_responses.evidence import marks
from chatsquash.formats.openai_responses.request import START, close, load, system
from chatsquash.formats.openai_responses.response import reply
from chatsquash.formats.openai_responses.stream import assemble
from chatsquash.formats.openai_responses.write import dump

NAME = "openai_responses"
PLACE = 20
TURNS = "input"
SYSTEM = ("instructions",)
TOOLS = ("tools",)
REFERS = ("previous_response_id", "conversation")
ECHOES = True
READS = ("output", "status", "object", "incomplete_details")

__all__ = ["START", "assemble", "close", "dump", "load", "marks", "reply", "system", "tools", "turn_tools"]
