"""The content of a conversation, independent of formats: turns, each with an ordered list of blocks.

Every format is read into blocks and written from blocks. Members that only one provider has are kept in ``native`` and
used only when that provider's format is written. This module imports nothing from chatsquash.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

Native = dict[str, dict[str, Any]]
"""Members that only one provider has, by provider, such as ``{"anthropic": {"cache_control": {...}}}``."""
OTHERS = "others"
"""The key in ``native``, in place of a provider, for members of later messages merged into the turn."""
FORM = "form"
"""The key in ``native``, in place of a provider, for members that only record which of two spellings a log used."""

Medium = Literal["image", "audio", "video", "file"]
"""The kinds of media; a document is a file."""

Outcome = Literal["success", "failed", "denied", "interrupted", "retried"]
"""The outcomes of a call; a call that was retried had failed."""


class Text(Struct, frozen=True, omit_defaults=True, gc=False, tag="text"):
    """Non-empty text."""

    text: str
    apart: bool = False
    """Whether it begins another message of the turn instead of continuing the preceding text."""
    native: Native = {}


class Reasoning(Struct, frozen=True, omit_defaults=True, gc=False, tag="reasoning"):
    """The reasoning of the model: as text, encrypted, or both."""

    text: str = ""
    signer: str = ""
    """The provider that signed or encrypted the reasoning and is the only one that can use it; empty if unknown."""
    signature: str = ""
    """The proof that the model wrote the text."""
    encrypted: str = ""
    """The reasoning in a form that only the signer can read."""
    id: str = ""
    """The id that the signer assigned."""
    native: Native = {}


class Call(Struct, frozen=True, omit_defaults=True, gc=False, tag="call"):
    """A call of a tool that the client runs."""

    id: str
    name: str | None
    """The name of the tool; ``None`` if it was not logged."""
    arguments: str = "{}"
    """JSON as written by the model, possibly truncated; any text for a custom tool."""
    custom: bool = False
    """Whether the tool takes text instead of an object."""
    made_up: bool = False
    """Whether the id was generated because none was logged."""
    native: Native = {}


class Media(Struct, frozen=True, omit_defaults=True, gc=False, tag="media"):
    """An image, an audio clip, a video or a file: as data, as a URL, or by the id that a provider uses."""

    kind: Medium
    mime: str = ""
    """The media type; empty if unknown."""
    data: str = ""
    """Base64 in the standard alphabet."""
    url: str = ""
    file_id: str = ""
    name: str = ""
    """The file name."""
    provider: str = ""
    """The provider that issued the file id; empty if unknown."""
    native: Native = {}


class Refusal(Struct, frozen=True, omit_defaults=True, gc=False, tag="refusal"):
    """A refusal by the model, in place of an answer."""

    text: str
    native: Native = {}


class Source(Struct, frozen=True, omit_defaults=True, gc=False, tag="source"):
    """A page or document that the preceding text cites."""

    url: str = ""
    """The address; empty for a document."""
    title: str = ""
    id: str = ""
    mime: str = ""
    name: str = ""
    """The file name of a document."""
    native: Native = {}


class Other(Struct, frozen=True, omit_defaults=True, gc=False, tag="other"):
    """A block that only one provider has, with the logged value."""

    provider: str
    value: Any

    native: ClassVar[Native] = {}


class Result(Struct, frozen=True, omit_defaults=True, gc=False, tag="result"):
    """The result of a call."""

    id: str
    """The id of the call that the result answers."""
    name: str = ""
    """The name of the tool, if it was logged with the result."""
    content: tuple[Text | Media | Refusal | Source | Other, ...] = ()
    json: bool = False
    """Whether the tool returned a JSON value other than a string; the content is that JSON."""
    outcome: Outcome = "success"
    made_up: bool = False
    """Whether the id was generated because none was logged."""
    native: Native = {}


class HostedCall(Struct, frozen=True, omit_defaults=True, gc=False, tag="hosted_call"):
    """A call of a tool that the provider runs."""

    id: str
    name: str
    arguments: str = "{}"
    """The arguments as JSON."""
    provider: str = ""
    native: Native = {}


class HostedResult(Struct, frozen=True, omit_defaults=True, gc=False, tag="hosted_result"):
    """The result of a tool that the provider runs."""

    id: str
    """The id of the call."""
    name: str
    value: Any = None
    """The result as JSON."""
    outcome: Outcome = "success"
    provider: str = ""
    native: Native = {}


class Approval(Struct, frozen=True, omit_defaults=True, gc=False, tag="approval"):
    """A request for permission to run a call, with the answer."""

    call: str
    """The id of the call."""
    id: str = ""
    approved: bool | None = None
    """The answer; ``None`` if there was none."""
    reason: str = ""
    native: Native = {}


Block = Text | Reasoning | Call | Result | HostedCall | HostedResult | Media | Refusal | Source | Approval | Other

Role = Literal["system", "developer", "user", "assistant", "tool"]


class Turn(Struct, frozen=True, omit_defaults=True, gc=False):
    """The consecutive content of one side of a conversation; results of calls are turns with the role ``tool``."""

    role: str
    """One of ``Role``, or any other role in a log."""
    blocks: tuple[Block, ...] = ()
    instructions: bool = False
    """Whether it is a prompt from a separate ``instructions`` member, as in OpenAI Responses and Pydantic AI."""
    native: Native = {}


ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")
PROMPTS: tuple[Role, ...] = ("system", "developer")
FAILED: tuple[Outcome, ...] = ("failed", "retried")
"""The outcomes that count as errors."""
