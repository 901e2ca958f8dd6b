"""Ollama's ``/api/chat``: messages much like OpenAI's, with objects for arguments and images beside the text."""

from chatsquash.formats.base import no_system as system
from chatsquash.formats.base import nothing_open as close
from chatsquash.formats.ollama.evidence import marks
from chatsquash.formats.ollama.request import START, load, tools
from chatsquash.formats.ollama.response import reply
from chatsquash.formats.ollama.stream import assemble
from chatsquash.formats.ollama.write import dump

NAME = "ollama"
PLACE = 40
TURNS = "messages"
SYSTEM: tuple[str, ...] = ()
TOOLS = ("tools",)
REFERS: tuple[str, ...] = ()
READS = ("message", "done_reason")

__all__ = ["START", "assemble", "close", "dump", "load", "marks", "reply", "system", "tools"]
