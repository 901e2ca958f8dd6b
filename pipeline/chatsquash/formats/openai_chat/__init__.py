"""OpenAI chat completions, and what the vendors that speak it make of them."""

from chatsquash.formats.base import Stream
from chatsquash.formats.base import no_system as system
from chatsquash.formats.base import nothing_open as close
from chatsquash.formats.openai_chat.evidence import marks
from chatsquash.formats.openai_chat.request import START, load, tools
from chatsquash.formats.openai_chat.response import reply
from chatsquash.formats.openai_chat.vendors import variants
from chatsquash.model import Conversation, Json

NAME = "openai_chat"
PLACE = 90
TURNS = "messages"
SYSTEM: tuple[str, ...] = ()
TOOLS = ("tools", "functions")
REFERS: tuple[str, ...] = ()


def assemble(events: list[Json]) -> Stream:
    """The completion that chunks add up to; see ``stream.assemble``."""
    from chatsquash.formats.openai_chat import stream  # which logs of whole responses do not need

    return stream.assemble(events)


def dump(conversation: Conversation) -> Json:
    """A request's messages and tools; see ``write.dump``."""
    from chatsquash.formats.openai_chat import write  # which only a translation needs

    return write.dump(conversation)


__all__ = ["START", "close", "load", "marks", "reply", "system", "tools", "variants"]
