"""What a turn of a conversation is made of, whatever its format: an ordered list of blocks.

A format loads to blocks and is written from blocks.  What it alone knows travels in ``native``, by the name of the
provider that wrote it, and is used only where that provider is written again.  This module imports nothing of ours.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

Native = dict[str, dict[str, Any]]
"""Members that only one provider has, by its name, such as ``{"anthropic": {"cache_control": {...}}}``."""
OTHERS = "others"
"""What stands in place of a provider over members, by provider, of messages that became one turn with the first."""
FORM = "form"
"""What stands in place of a provider over members, by provider, that only tell which of two spellings a log had."""

Medium = Literal["image", "audio", "video", "file"]
"""What a medium is; a document is a file."""

Outcome = Literal["success", "failed", "denied", "interrupted", "retried"]
"""How a call came out; one that was retried had failed."""


class Text(Struct, frozen=True, omit_defaults=True, gc=False, tag="text"):
    """A text, which is never empty."""

    text: str
    apart: bool = False
    """Whether it begins a message of its own in a turn of several, so that it does not go on from the text before."""
    native: Native = {}


class Reasoning(Struct, frozen=True, omit_defaults=True, gc=False, tag="reasoning"):
    """What the model thought, as text, encrypted, or both."""

    text: str = ""
    signer: str = ""
    """The provider that signed or encrypted it, the only one that can use that; empty where nobody did or is known."""
    signature: str = ""
    """What proves that the text is the model's."""
    encrypted: str = ""
    """The reasoning itself, as only its signer can read it."""
    id: str = ""
    """What its signer calls it."""
    native: Native = {}


class Call(Struct, frozen=True, omit_defaults=True, gc=False, tag="call"):
    """A call of a tool that the client runs."""

    id: str
    name: str | None
    """``None`` where none was logged."""
    arguments: str = "{}"
    """JSON as the model wrote it, or as far as it came; what a custom tool gets is any text."""
    custom: bool = False
    """Whether the tool takes a text and no object."""
    made_up: bool = False
    """Whether the id was made up, since none was logged."""
    native: Native = {}


class Media(Struct, frozen=True, omit_defaults=True, gc=False, tag="media"):
    """An image, a sound, a film or a file: by its data, its address, or the id that a provider knows it by."""

    kind: Medium
    mime: str = ""
    """The media type; empty where it is not known."""
    data: str = ""
    """In base64 of the standard alphabet."""
    url: str = ""
    file_id: str = ""
    name: str = ""
    """That of the file."""
    provider: str = ""
    """The provider that knows it by its id; empty where that is not known."""
    native: Native = {}


class Refusal(Struct, frozen=True, omit_defaults=True, gc=False, tag="refusal"):
    """What the model says in place of an answer."""

    text: str
    native: Native = {}


class Source(Struct, frozen=True, omit_defaults=True, gc=False, tag="source"):
    """What the text before it rests on: a page or a document that is cited."""

    url: str = ""
    """Empty for a document."""
    title: str = ""
    id: str = ""
    mime: str = ""
    name: str = ""
    """That of a document's file."""
    native: Native = {}


class Other(Struct, frozen=True, omit_defaults=True, gc=False, tag="other"):
    """What one provider has and nobody else: its value as logged."""

    provider: str
    value: Any

    native: ClassVar[Native] = {}


class Result(Struct, frozen=True, omit_defaults=True, gc=False, tag="result"):
    """The result of a call."""

    id: str
    """That of the call which it answers."""
    name: str = ""
    """The tool's, where it was logged with the result."""
    content: tuple[Text | Media | Refusal | Source | Other, ...] = ()
    json: bool = False
    """Whether the tool returned JSON that is no text, which the content spells."""
    outcome: Outcome = "success"
    made_up: bool = False
    """Whether no id was logged."""
    native: Native = {}


class HostedCall(Struct, frozen=True, omit_defaults=True, gc=False, tag="hosted_call"):
    """A call of a tool that the provider runs itself."""

    id: str
    name: str
    arguments: str = "{}"
    """JSON."""
    provider: str = ""
    native: Native = {}


class HostedResult(Struct, frozen=True, omit_defaults=True, gc=False, tag="hosted_result"):
    """What a tool that the provider runs gave."""

    id: str
    """That of the call."""
    name: str
    value: Any = None
    """JSON."""
    outcome: Outcome = "success"
    provider: str = ""
    native: Native = {}


class Approval(Struct, frozen=True, omit_defaults=True, gc=False, tag="approval"):
    """That somebody was asked whether a call may run, and what the answer was."""

    call: str
    """The id of the call."""
    id: str = ""
    approved: bool | None = None
    """``None``: nobody has answered."""
    reason: str = ""
    native: Native = {}


Block = Text | Reasoning | Call | Result | HostedCall | HostedResult | Media | Refusal | Source | Approval | Other

Role = Literal["system", "developer", "user", "assistant", "tool"]


class Turn(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one side says before the other does; results of calls are turns of the role ``tool``."""

    role: str
    """One of ``Role``, or what a log has in its place."""
    blocks: tuple[Block, ...] = ()
    instructions: bool = False
    """Whether it is a prompt that was given as instructions, as OpenAI Responses and Pydantic AI have them."""
    native: Native = {}


ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")
PROMPTS: tuple[Role, ...] = ("system", "developer")
FAILED: tuple[Outcome, ...] = ("failed", "retried")
"""The outcomes that are errors."""
