"""What a line of a plain log is: chat with an answer, and nothing that asks for a second look."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from chatsquash import jsonio
from chatsquash.entries.cuts import BETWEEN, DRAWN, TOOLS
from chatsquash.entries.exchange import LIMITS, claims
from chatsquash.formats.openai_chat.members import RESPONSE

_NEVER = f"{DRAWN}never"
_Absent: Any = Literal[_NEVER] | UnsetType
"""The type of a member that no plain line has."""
_Limit: Any = int | None | UnsetType
_COUNTS, _HOLDERS = LIMITS[:3], LIMITS[3:]
"""The limits that are numbers, and the members that hold one."""
limits = attrgetter(*_COUNTS)
"""The members of a request that say how many tokens the reply may have, in order."""
_Short = Annotated[str, msgspec.Meta(max_length=200)]
"""A text that is kept of every line."""
_Turn: Any = dict[str, jsonio.flat(jsonio.FLAT - 1)]  # type: ignore[misc]
"""A message with no more levels than nearly all have."""
turns = jsonio.decoder(list[_Turn])
"""What parses an array of messages."""


class _Choice(Struct, gc=False):
    message: _Turn
    finish_reason: str | None = None


_Response = msgspec.defstruct(
    "Response",
    [
        ("choices", list[_Choice]),
        ("object", Literal["chat.completion"], "chat.completion"),
        ("model", str),
        ("id", _Short | None, None),
        *((name, Raw, Raw()) for name in RESPONSE if name not in ("choices", "object", "model", "id")),
    ],
    forbid_unknown_fields=True,
    gc=False,
    kw_only=True,
)


@cache
def decoders(folders: tuple[str, ...]) -> tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]:
    """What parses the first line of a log, and what parses the others as far as they are left."""
    unclaimed = {f"claim{at}": name for at, name in enumerate(claims(folders))}
    beside: list[Any] = [
        ("response", _Response),
        ("timestamp", _Short),
        ("session_id", str | None, None),
        ("status", Literal[200] | None, None),
        *((name, _Absent, UNSET) for name in unclaimed),
    ]
    request: list[Any] = [
        *((name, _Absent, UNSET) for name in ("functions", *_HOLDERS)),
        *((name, _Limit, UNSET) for name in _COUNTS),
    ]

    def line(messages: Any, tools: Any, default: Any) -> Any:
        members = [("messages", messages), ("tools", tools, default), *request]
        whole = msgspec.defstruct("Request", members, gc=False, kw_only=True)
        return msgspec.defstruct("Line", [("request", whole), *beside], rename=unclaimed, gc=False, kw_only=True)

    later = line(list[str | _Turn], Literal[TOOLS] | UnsetType, UNSET)
    others: Any = list[later | Literal[BETWEEN]]  # type: ignore[valid-type]
    return jsonio.decoder(line(Raw, Raw, Raw())), jsonio.decoder(others)
