"""Load the calls in OpenAI chat messages, in the form of any vendor."""

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


def logged_calls(turn: Object, unknown: list[Json]) -> list[Object]:
    """Return the calls of a message, including a legacy call unless it repeats one of them.

    Args:
        turn: the message
        unknown: the list to which values that are not calls are added
    """
    calls_logged, legacy = turn.get("tool_calls"), turn.get("function_call")
    calls = [each for each in objects(calls_logged) if _is_call(each)]
    others = [each for each in calls_logged if not _is_call(each)] if isinstance(calls_logged, list) else calls_logged
    unknown += [{"tool_calls": others}] if not is_empty(others) else []
    if isinstance(legacy, dict):
        # Some logs contain a call in both the legacy and the current form.
        repeats = is_empty(legacy) or legacy in [each.get("function") for each in calls]
        return calls if repeats else [*calls, {"function": legacy}]
    unknown += [{"function_call": legacy}] if not is_empty(legacy) else []
    return calls


def _is_call(call: Json) -> bool:
    """Return whether a value is a call of a function or a custom tool."""
    return isinstance(call, dict) and ("function" in call or call.get("type") in _CALLS)


_CALLS = (None, "", "function", "custom")


def read(logged_call: Object, number: int) -> Call:
    """Load a call; if no id was logged, its id is generated from the number."""
    of = logged_call.get("type")
    custom, function = logged_call.get("custom"), logged_call.get("function")
    is_custom_call = of == "custom", not is_empty(custom), not function
    # Logs may contain empty members of the other type, so two of three signs are required.
    is_custom = isinstance(custom, dict) and sum(is_custom_call) > 1
    holder, member = ("custom", "input") if is_custom else ("function", "arguments")
    inner = logged_call.get(holder)
    known: Object = inner if isinstance(inner, dict) else {}
    call_id, name = identifier(logged_call.get("id")) or "", string(known, "name") if "name" in known else None
    spelled = arguments(known.get(member), "" if is_custom else "{}")
    loaded_call = Call(call_id or f"call_{number}", name, spelled, is_custom, not call_id)
    is_plain = of == holder and isinstance(inner, dict) and logged_call.keys() <= {"id", "type", holder}
    if is_plain and call_id and name and known.keys() <= {"name", member}:
        return loaded_call  # the usual case
    more = {**_call_rest(logged_call, holder, member)}
    return replace(loaded_call, native=more) if more else loaded_call


def _call_rest(logged_call: Object, holder: str, member: str) -> Native:
    """Return the other members of a call; Google's signature becomes a native member of Google."""
    inner_members = logged_call[holder] if isinstance(logged_call.get(holder), dict) else None
    known = inner_members or {}
    signature = next((value for path in _SIGNATURES if isinstance(value := at(logged_call, *path), str) and value), "")
    known_types = ["type"] if logged_call.get("type") in _CALLS else []
    empty_members = [
        name for name in ("function", "custom") if is_empty(logged_call.get(name)) or (name == holder and inner_members)
    ]
    id_members = ["id"] if identifier(logged_call.get("id")) else []
    read = ["index", PRIVATE, *id_members, *empty_members, *known_types]
    if signature:
        read += [
            "thought_signature",
            *_only(logged_call, "extra_content", {"google": {"thought_signature": signature}}),
        ]
        read += _only(logged_call, "provider_specific_fields", {"thought_signature": signature})
    rest = native(PROVIDER, logged_call, *read).get(PROVIDER, {})
    members = ["thought_signature"] if signature else []
    inner = native(PROVIDER, known, member, *text_members(known, "name"), *members).get(PROVIDER, {})
    own = {**rest, **({holder: inner} if inner else {})}
    return {
        **({PROVIDER: own} if own else {}),
        **({"google": {"thoughtSignature": signature}} if signature else {}),
    }


def _only(holder: Object, member: str, value: Json) -> list[str]:
    """Return a list with the member if it has exactly this value, otherwise an empty list."""
    return [member] if holder.get(member) == value else []
