"""OpenAI chat completions, and what the vendors that speak it make of them."""

from chatsquash.core.blocks import Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import Stream
from chatsquash.formats.base import no_open_turns as close
from chatsquash.formats.providers.openai_chat.content import PROVIDER
from chatsquash.formats.providers.openai_chat.evidence import marks
from chatsquash.formats.providers.openai_chat.foreign import SYSTEM, has_foreign
from chatsquash.formats.providers.openai_chat.read import START, load, tools
from chatsquash.formats.providers.openai_chat.response import reply
from chatsquash.formats.providers.openai_chat.vendors import variants
from chatsquash.formats.values import Object

NAME = "openai_chat"
PLACE = 90
TURNS = "messages"
TOOLS = ("tools", "functions")
REFERS: tuple[str, ...] = ()


def accepts(request: Object) -> bool:
    """Whether a request has nothing that another format has; see ``foreign``."""
    return not has_foreign(request)


def system(value: Json) -> list[Turn]:
    """A system prompt next to the messages, as logged by gateways that translate requests; see ``anthropic.read``."""
    from chatsquash.formats.providers.anthropic import read  # which plain chat does not need

    return read.system(value)


def assemble(events: list[Json]) -> Stream:
    """The completion that chunks add up to; see ``stream.assemble``."""
    from chatsquash.formats.providers.openai_chat import stream  # which logs of whole responses do not need

    return stream.assemble(events)


def dump(conversation: Conversation) -> Json:
    """A request's messages and tools; see ``write.dump``."""
    from chatsquash.formats.providers.openai_chat import write  # which only a translation needs

    return write.dump(conversation)


LOSES = "video, result image, result file, approval, hosted call, hosted call alone"
"""The kinds of content of which something is lost when they are written, as ``docs/formats.md`` names them."""
BLURS = """
instructions, text after call, file id of Anthropic, result json obj, result json list, is_error, denied result,
reasoning of two blocks, reasoning between, anthropic signature, anthropic redacted, openai encrypted, native members
"""
"""Those of which only places, bounds and marks are."""

__all__ = ["PROVIDER", "START", "SYSTEM", "close", "load", "marks", "reply", "tools", "variants"]
