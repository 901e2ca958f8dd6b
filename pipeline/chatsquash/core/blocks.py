"""The content of a conversation, independent of formats: turns, each with an ordered list of blocks.

Every format is read into blocks and written from blocks.  Members that only one provider has are kept in ``native`` and
are used only when that provider's format is written again.  This module imports nothing from chatsquash.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

Native = dict[str, dict[str, Any]]
"""Members that only one provider has, by its name, such as ``{"anthropic": {"cache_control": {...}}}``."""
OTHERS = "others"
"""The key in ``native``, instead of a provider, for members of later messages that were merged into the turn."""
FORM = "form"
"""The key in ``native``, instead of a provider, for members that only record which of two spellings a log used."""

Medium = Literal["image", "audio", "video", "file"]
"""The kinds of media; a document is a file."""

Outcome = Literal["success", "failed", "denied", "interrupted", "retried"]
"""The outcomes of a call; one that was retried had failed."""


class Text(Struct, frozen=True, omit_defaults=True, gc=False, tag="text"):
    """A text that is not empty."""

    text: str
    apart: bool = False
    """Whether it begins another message of the turn, so that it does not continue the preceding text."""
    native: Native = {}


class Reasoning(Struct, frozen=True, omit_defaults=True, gc=False, tag="reasoning"):
    """The reasoning of the model: as text, encrypted, or both."""

    text: str = ""
    signer: str = ""
    """The provider that signed or encrypted it, and the only one that can use the result; empty if none is known."""
    signature: str = ""
    """The proof that the model wrote the text."""
    encrypted: str = ""
    """The reasoning in a form that only its signer can read."""
    id: str = ""
    """Its id at the signer."""
    native: Native = {}


class Call(Struct, frozen=True, omit_defaults=True, gc=False, tag="call"):
    """A call of a tool that the client runs."""

    id: str
    name: str | None
    """``None`` if no name was logged."""
    arguments: str = "{}"
    """JSON as the model wrote it, possibly truncated; any text for a custom tool."""
    custom: bool = False
    """Whether the tool takes text instead of an object."""
    made_up: bool = False
    """Whether the id was generated because none was logged."""
    native: Native = {}


class Media(Struct, frozen=True, omit_defaults=True, gc=False, tag="media"):
    """An image, an audio clip, a video or a file: as data, as a URL, or by the id that a provider uses for it."""

    kind: Medium
    mime: str = ""
    """The media type; empty if it is unknown."""
    data: str = ""
    """Base64 in the standard alphabet."""
    url: str = ""
    file_id: str = ""
    name: str = ""
    """The file name."""
    provider: str = ""
    """The provider that issued the file id; empty if it is unknown."""
    native: Native = {}


class Refusal(Struct, frozen=True, omit_defaults=True, gc=False, tag="refusal"):
    """A refusal of the model instead of an answer."""

    text: str
    native: Native = {}


class Source(Struct, frozen=True, omit_defaults=True, gc=False, tag="source"):
    """A page or document that the preceding text cites."""

    url: str = ""
    """Empty for a document."""
    title: str = ""
    id: str = ""
    mime: str = ""
    name: str = ""
    """The file name of a document."""
    native: Native = {}


class Other(Struct, frozen=True, omit_defaults=True, gc=False, tag="other"):
    """A block that only one provider has, with its value as logged."""

    provider: str
    value: Any

    native: ClassVar[Native] = {}


class Result(Struct, frozen=True, omit_defaults=True, gc=False, tag="result"):
    """The result of a call."""

    id: str
    """The id of the call that it answers."""
    name: str = ""
    """The name of the tool, if it was logged with the result."""
    content: tuple[Text | Media | Refusal | Source | Other, ...] = ()
    json: bool = False
    """Whether the tool returned a JSON value that is not a string; the content is its JSON."""
    outcome: Outcome = "success"
    made_up: bool = False
    """Whether the id was generated because none was logged."""
    native: Native = {}


class HostedCall(Struct, frozen=True, omit_defaults=True, gc=False, tag="hosted_call"):
    """A call of a tool that the provider runs."""

    id: str
    name: str
    arguments: str = "{}"
    """JSON."""
    provider: str = ""
    native: Native = {}


class HostedResult(Struct, frozen=True, omit_defaults=True, gc=False, tag="hosted_result"):
    """The result of a tool that the provider runs."""

    id: str
    """The id of the call."""
    name: str
    value: Any = None
    """JSON."""
    outcome: Outcome = "success"
    provider: str = ""
    native: Native = {}


class Approval(Struct, frozen=True, omit_defaults=True, gc=False, tag="approval"):
    """A request for permission to run a call, with the answer."""

    call: str
    """The id of the call."""
    id: str = ""
    approved: bool | None = None
    """``None`` if there was no answer."""
    reason: str = ""
    native: Native = {}


Block = Text | Reasoning | Call | Result | HostedCall | HostedResult | Media | Refusal | Source | Approval | Other

Role = Literal["system", "developer", "user", "assistant", "tool"]


class Turn(Struct, frozen=True, omit_defaults=True, gc=False):
    """The consecutive content of one side of a conversation; results of calls are turns with the role ``tool``."""

    role: str
    """One of ``Role``, or any other role from a log."""
    blocks: tuple[Block, ...] = ()
    instructions: bool = False
    """Whether it is a prompt from a separate ``instructions`` member, as in OpenAI Responses and Pydantic AI."""
    native: Native = {}


ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")
PROMPTS: tuple[Role, ...] = ("system", "developer")
FAILED: tuple[Outcome, ...] = ("failed", "retried")
"""The outcomes that count as errors."""
