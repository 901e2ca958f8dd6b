"""Members of Pydantic AI's messages and parts: what only it knows, and what others have in a place of their own."""

from __future__ import annotations

from chatsquash.core.blocks import Native
from chatsquash.formats.calls import EMPTY
from chatsquash.formats.values import Object, members, string

PROVIDER = "pydantic_ai"
MESSAGE = "message."
"""What the members of a whole message begin with among those of its first turn."""
PART = "part"
"""The part that is shown to models in other words."""
_USUAL = {"force_download": False, "outcome": "success", "scope": "conversation", "state": "complete"}
_SHARED = (("openai", "id", "id"), ("openai", "phase", "phase"), ("google", "thought_signature", "thoughtSignature"))
"""What blocks have of a provider: whose it is, its name here, where only an id is no detail, and there."""
_WHOSE = (("google", "google"), ("openai", "openai"), ("azure", "openai"))


def whose(name: str) -> str:
    """The provider that one of Pydantic AI's names for it stands for."""
    return next((provider for begins, provider in _WHOSE if name.startswith(begins)), name)


def own(holder: Object, *read: str) -> Object:
    """The members but those that are read and those that say nothing."""
    return {
        key: value
        for key, value in holder.items()
        if (value or value not in EMPTY) and key not in read and (key not in _USUAL or _USUAL[key] != value)
    }


def tagged(members: Object) -> Native:
    """Members as what Pydantic AI alone knows."""
    return {PROVIDER: members} if members else {}


def shared(held: Object, *, is_told: bool = False) -> Native:
    """What only providers know of a block, with what its provider has in a place of its own.

    ``is_told``: the block itself says whose it is.
    """
    name, found = string(held, "provider_name"), Object()
    for who, ours, theirs in _SHARED if name else ():
        details = members(held.get("provider_details"))
        value = held.get(ours) if ours == "id" else details.get(ours)
        if who == whose(name) and isinstance(value, str):
            found[theirs] = value
            held = own(held, "id") if ours == "id" else own({**held, "provider_details": own(details, ours)})
    read = ("provider_name",) if name == whose(name) and (is_told or found) else ()
    return {**({whose(name): found} if found else {}), **tagged(own(held, *read))}


def given(native: Native, made: Object) -> Object:
    """A part with what providers know of a block; of several providers the first."""
    made |= native.get(PROVIDER, {})
    for who, ours, theirs in _SHARED:
        value = native.get(who, {}).get(theirs)
        if isinstance(value, str) and whose(made.setdefault("provider_name", who)) == who:
            held = {ours: value}
            made |= held if ours == "id" else {"provider_details": {**members(made.get("provider_details")), **held}}
    return made
