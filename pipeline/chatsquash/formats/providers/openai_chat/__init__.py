"""OpenAI chat completions, including the variants of other vendors."""

from typing import Any

from chatsquash.core.blocks import Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import LoadedTurn, Stream, Tools
from chatsquash.formats.base import no_open_turns as close
from chatsquash.formats.providers.openai_chat.evidence import marks
from chatsquash.formats.providers.openai_chat.foreign import SYSTEM, has_foreign
from chatsquash.formats.providers.openai_chat.members import variants
from chatsquash.formats.providers.openai_chat.response import reply
from chatsquash.formats.values import Object

NAME = "openai_chat"
PROVIDER = NAME
START = None
PLACE = 90
TURNS = "messages"
TOOLS = ("tools", "functions")
REFERS: tuple[str, ...] = ()


def accepts(request: Object) -> bool:
    """Return whether a request has no content of another format; see ``foreign``."""
    return not has_foreign(request)


def load(turn: Json, state: Any) -> LoadedTurn:
    """Load a message as one turn; see ``read.load``."""
    from chatsquash.formats.providers.openai_chat import read  # imported late: plain chat stays as logged

    return read.load(turn, state or read.START)


def tools(value: Json) -> Tools:
    """Load tool definitions; see ``read.tools``."""
    from chatsquash.formats.providers.openai_chat import read  # imported late: definitions of functions stay as logged

    return read.tools(value)


def system(value: Json) -> list[Turn]:
    """Load a system prompt outside the messages, as logged by gateways that translate; see ``anthropic.read``."""
    from chatsquash.formats.providers.anthropic import read  # imported late: plain chat does not need it

    return read.system(value)


def assemble(events: list[Json]) -> Stream:
    """Assemble a completion from its chunks; see ``stream.assemble``."""
    from chatsquash.formats.providers.openai_chat import stream  # imported late: only streams need it

    return stream.assemble(events)


def dump(conversation: Conversation) -> Json:
    """Write the messages and the tools of a request; see ``write.dump``."""
    from chatsquash.formats.providers.openai_chat import write  # imported late: only translations need it

    return write.dump(conversation)


LOSES = "video, result image, result file, approval, hosted call, unanswered hosted call"
"""The kinds of content that lose information when written, by their names in ``docs/formats.md``."""
BLURS = """
instructions, text after call, file id of Anthropic, result json obj, result json list, is_error, denied result,
reasoning of two blocks, reasoning between, anthropic signature, anthropic redacted, openai encrypted, native members
"""
"""The kinds of content that lose only their place, boundaries or marks."""

__all__ = ["SYSTEM", "close", "marks", "reply", "variants"]
