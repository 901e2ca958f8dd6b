"""Calls in messages of OpenAI chat, in whichever spelling of a vendor."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.core.blocks import Call, Native
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Json
from chatsquash.formats.calls import arguments, native
from chatsquash.formats.providers.openai_chat.content import PROVIDER
from chatsquash.formats.providers.openai_chat.members import identifier, is_empty
from chatsquash.formats.values import Object, at, objects, string, text_members

_SIGNATURES = (
    ("thought_signature",),
    ("function", "thought_signature"),
    ("extra_content", "google", "thought_signature"),
    ("provider_specific_fields", "thought_signature"),
)


def logged_calls(turn: Object, odd: list[Json]) -> list[Object]:
    """The calls of a message, the legacy one, too, unless it repeats one of them; what is none goes to ``odd``."""
    calls_logged, legacy = turn.get("tool_calls"), turn.get("function_call")
    calls = [each for each in objects(calls_logged) if _is_call(each)]
    strays = [each for each in calls_logged if not _is_call(each)] if isinstance(calls_logged, list) else calls_logged
    odd += [{"tool_calls": strays}] if not is_empty(strays) else []
    if isinstance(legacy, dict):
        repeats = is_empty(legacy) or legacy in [each.get("function") for each in calls]
        return calls if repeats else [*calls, {"function": legacy}]
    odd += [{"function_call": legacy}] if not is_empty(legacy) else []
    return calls


def _is_call(logged: Json) -> bool:
    """Whether this is a call of a function or a custom tool."""
    return isinstance(logged, dict) and ("function" in logged or logged.get("type") in _CALLS)


_CALLS = (None, "", "function", "custom")


def read(logged: Object, number: int) -> Call:
    """A call, whose id has this number where none was logged."""
    of = logged.get("type")
    custom, function = logged.get("custom"), logged.get("function")
    is_custom_call = of == "custom", not is_empty(custom), not function
    is_custom = isinstance(custom, dict) and sum(is_custom_call) > 1
    holder, member = ("custom", "input") if is_custom else ("function", "arguments")
    inner = logged.get(holder)
    known: Object = inner if isinstance(inner, dict) else {}
    own, name = identifier(logged.get("id")) or "", string(known, "name") if "name" in known else None
    spelled = arguments(known.get(member), "" if is_custom else "{}")
    made = Call(own or f"call_{number}", name, spelled, is_custom, not own)
    is_plain = of == holder and isinstance(inner, dict) and logged.keys() <= {"id", "type", holder}
    if is_plain and own and name and known.keys() <= {"name", member}:
        return made  # as most are
    more = {**_call_rest(logged, holder, member)}
    return replace(made, native=more) if more else made


def _call_rest(logged: Object, holder: str, member: str) -> Native:
    """What else a call has; a signature of Google's is his."""
    inner_members = logged[holder] if isinstance(logged.get(holder), dict) else None
    known = inner_members or {}
    signature = next((value for path in _SIGNATURES if isinstance(value := at(logged, *path), str) and value), "")
    known_types = ["type"] if logged.get("type") in _CALLS else []
    said = [name for name in ("function", "custom") if is_empty(logged.get(name)) or (name == holder and inner_members)]
    named = ["id"] if identifier(logged.get("id")) else []
    read = ["index", PRIVATE, *named, *said, *known_types]
    if signature:
        read += ["thought_signature", *_only(logged, "extra_content", {"google": {"thought_signature": signature}})]
        read += _only(logged, "provider_specific_fields", {"thought_signature": signature})
    rest = native(PROVIDER, logged, *read).get(PROVIDER, {})
    members = ["thought_signature"] if signature else []
    inner = native(PROVIDER, known, member, *text_members(known, "name"), *members).get(PROVIDER, {})
    whole = {**rest, **({holder: inner} if inner else {})}
    return {
        **({PROVIDER: whole} if whole else {}),
        **({"google": {"thoughtSignature": signature}} if signature else {}),
    }


def _only(holder: Object, member: str, value: Json) -> list[str]:
    """A member that says nothing but a value."""
    return [member] if holder.get(member) == value else []
