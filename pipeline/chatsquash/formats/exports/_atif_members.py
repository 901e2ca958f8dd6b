"""Members of trajectories that no conversation has; they are kept for documents that are written as ATIF again."""

from __future__ import annotations

from collections.abc import Callable
from sys import float_info

from chatsquash.core.jsonio import Rounded
from chatsquash.core.model import Json
from chatsquash.core.times import Moment
from chatsquash.formats.calls import KEY
from chatsquash.formats.values import Object, at, members, objects, string

REFERENCE = "subagent_trajectory_ref"
"""The member of a result that refers to trajectories of sub-agents."""
_RESOLVABLE = ("trajectory_id", "trajectory_path")
_REFERENCE = (*_RESOLVABLE, "session_id")


def is_finite(value: Json) -> bool:
    """Return whether a value is a number that a float can represent."""
    return type(value) in (int, float, Rounded) and abs(value) <= float_info.max  # an integer may exceed a float


def _is_integer(value: Json) -> bool:
    return type(value) is int


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


_USAGE: dict[str, Callable[[Json], bool]] = {
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), _is_integer),
    "cost_usd": is_finite,
}
METRICS = {**_USAGE, "extra": _is_object}
"""The metrics of a step other than token ids, with the types that the format requires."""
FINAL_METRICS = {
    **{f"total_{name}": is_valid for name, is_valid in _USAGE.items()},
    "total_steps": lambda value: type(value) is int and value >= 0,
    "extra": _is_object,
}
"""The metrics of a trajectory."""


def is_reference_only(result: Object) -> bool:
    """Return whether an observation only refers to the trajectory of a sub-agent that no call started."""
    is_empty = result.get("content") is None and not result.get("source_call_id")
    return is_empty and bool(result.get(REFERENCE))


def are_references(value: Json) -> bool:
    """Return whether a value is a list of valid references to trajectories, of which none may be unresolvable."""
    return isinstance(value, list) and bool(value) and all(map(_is_reference, value))


def _is_reference(value: Json) -> bool:
    if not isinstance(value, dict) or not value.keys() <= {*_REFERENCE, "extra"}:
        return False
    has_texts = all(isinstance(value.get(name), str | None) for name in _REFERENCE)
    return has_texts and isinstance(value.get("extra"), dict | None) and bool(set(_RESOLVABLE) & value.keys())


# Reading


def describe(trajectory: Object, steps: list[Object]) -> Object:
    """Return the members of a trajectory that are not part of a conversation, with those of its steps."""
    optional = {
        "notes": string(trajectory, "notes"),
        "final_metrics": _valid(trajectory.get("final_metrics"), FINAL_METRICS),
        "extra": _others(trajectory.get("extra")),
    }
    own = string(trajectory, "trajectory_id")
    return {"agent": _agent(trajectory.get("agent")), "steps": steps, "id": own, **_without_empty(optional)}


def _agent(agent: Json) -> Object:
    optional = {name: string(agent, name) for name in ("name", "version")}
    return _without_empty({**optional, "extra": members(at(agent, "extra"))})


def describe_step(step: Object, time: Moment | None) -> Object:
    """Return the members of a step that are not part of its messages; ``time`` is the time in its timestamp."""
    is_copy, calls, timestamp = step.get("is_copied_context"), step.get("llm_call_count"), step.get("timestamp")
    description: Object = {"is_copied_context": is_copy} if isinstance(is_copy, bool) else {}
    if type(calls) is int and calls >= 0:
        description["llm_call_count"] = calls
    if time and isinstance(timestamp, str):
        description["timestamp"] = timestamp
    effort = step.get("reasoning_effort")
    if isinstance(effort, str) or is_finite(effort):
        description["reasoning_effort"] = effort
    results = [each for each in objects(at(step, "observation", "results")) if is_reference_only(each)]
    optional = {
        "metrics": _valid(step.get("metrics"), METRICS),
        "extra": _others(step.get("extra")),
        "references": [] if step.get("tool_calls") else list(filter(_is_valid_result, results)),
    }
    return {**description, **_without_empty(optional)}


def _is_valid_result(result: Object) -> bool:
    has_members = result.keys() <= {"content", REFERENCE, "extra"} and isinstance(result.get("extra"), dict | None)
    return has_members and are_references(result[REFERENCE])


def _valid(metrics: Json, checks: dict[str, Callable[[Json], bool]]) -> Object:
    known = members(metrics)
    return {name: known[name] for name, is_valid in checks.items() if name in known and is_valid(known[name])}


def _others(extra: Json) -> Object:
    """Return the members of ``extra`` that chatsquash did not write."""
    return {name: value for name, value in members(extra).items() if name != KEY}


def _without_empty(values: Object) -> Object:
    return {name: value for name, value in values.items() if value}


# Writing


def restore(document: Object, description: Object) -> Object:
    """Add the members that a trajectory had when it was read; ``document`` is without the ids of its steps."""
    has_steps = _restore_steps(document["steps"], description.get("steps", []))
    metrics = description.get("final_metrics", {})
    if not has_steps:
        metrics = {name: value for name, value in metrics.items() if name != "total_steps"}
    extra = {**description.get("extra", {}), **document.get("extra", {})}
    optional = {"notes": description.get("notes"), "final_metrics": metrics, "extra": extra}
    return {**document, **_without_empty(optional)}


def _restore_steps(steps: list[Object], descriptions: list[Object]) -> bool:
    """Add the members of steps; return whether the steps are those that were read."""
    if len(descriptions) != len(steps):
        return False
    for step, description in zip(steps, descriptions, strict=True):
        if description.get("llm_call_count") == 0 and step.keys() & {"reasoning_content", "metrics"}:
            continue  # which the format does not allow without a model
        step.update(_step_members(step, description))
        if references := description.get("references"):
            step.setdefault("observation", {"results": []})["results"] += references
    return True


def _step_members(step: Object, description: Object) -> Object:
    names = ("timestamp", "is_copied_context", "llm_call_count")
    own = {name: description[name] for name in names if name in description}
    metrics = {**description.get("metrics", {}), **step.get("metrics", {})}
    if step["source"] == "agent" and "reasoning_effort" in description:
        own["reasoning_effort"] = description["reasoning_effort"]
    if step["source"] == "agent" and metrics and own.get("llm_call_count") != 0:
        own["metrics"] = metrics
    extra = {**description.get("extra", {}), **step.get("extra", {})}
    return {**own, "extra": extra} if extra else own
