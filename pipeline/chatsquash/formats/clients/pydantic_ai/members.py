"""Members of Pydantic AI's messages and parts: what only it knows, and what others have in a place of their own."""

from __future__ import annotations

from chatsquash.blocks import Native
from chatsquash.formats.calls import EMPTY
from chatsquash.formats.values import Object, string
from chatsquash.model import Json

PROVIDER = "pydantic_ai"
MESSAGE = "message."
"""What the members of a whole message begin with among those of its first turn."""
PART = "part"
"""The part that is shown to models in other words."""
_USUAL = {"force_download": False, "outcome": "success", "scope": "conversation", "state": "complete"}
_SHARED = (("openai", "id", "id"), ("openai", "phase", "phase"), ("google", "thought_signature", "thoughtSignature"))
"""What texts and calls have of a provider: whose it is, its name here, where only an id is no detail, and there."""
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


def shared(members: Object) -> Native:
    """What only providers know of a text or a call, with what its provider has in a place of its own."""
    name, details = string(members, "provider_name"), members.get("provider_details")
    if not name:
        return tagged(members)
    held = {**(details if isinstance(details, dict) else {}), **({"id": members["id"]} if "id" in members else {})}
    mine = [(ours, theirs) for who, ours, theirs in _SHARED if who == whose(name) and isinstance(held.get(ours), str)]
    found: Json = {theirs: held.pop(ours) for ours, theirs in mine}
    if not found:
        return tagged(members)
    rest = {"id": held.pop("id", None), "provider_details": held}
    left = own({**members, **rest}, *(("provider_name",) if name == whose(name) else ()))
    return {**tagged(left), whose(name): found}


def given(native: Native) -> Object:
    """The members of a part for what providers know of a text or a call; of several providers the first."""
    made: Object = {**native.get(PROVIDER, {})}
    for who, ours, theirs in _SHARED:
        value = native.get(who, {}).get(theirs)
        if isinstance(value, str) and whose(made.setdefault("provider_name", who)) == who:
            details = {**made.get("provider_details", {}), ours: value}
            made |= {ours: value} if ours == "id" else {"provider_details": details}
    return made
