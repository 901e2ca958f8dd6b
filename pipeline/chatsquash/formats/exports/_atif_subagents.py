"""Sub-agents in ATIF: trajectories that contain those of their sub-agents, and references to them in results."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from chatsquash.core.model import Conversation, ConversationKind, Json, Origin
from chatsquash.formats.base import expect_list, expect_object
from chatsquash.formats.calls import KEY
from chatsquash.formats.evidence import origin_of
from chatsquash.formats.exports._atif_members import REFERENCE
from chatsquash.formats.values import Object, at, objects, string

# Reading


class PlacedTrajectory(NamedTuple):
    """A trajectory with its place and links."""

    place: str
    line: int
    trajectory: Object
    id: str
    kind: ConversationKind
    parent: str
    session: str
    outer: int | None = None
    """The index of the trajectory that contains it."""
    call: str | None = None
    """The id of the call that started it."""
    began: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The ids of calls, by the ids of the trajectories that they started."""


def own_id(trajectory: Json) -> str:
    """Return the id of a trajectory that does not belong to a sub-agent."""
    return string(trajectory, "trajectory_id") or string(trajectory, "session_id")


def trajectories_in(value: Json, place: str, line: int, before: str) -> list[PlacedTrajectory]:
    """Return a trajectory and its nested trajectories; ``before`` is the id of the trajectory that it continues."""
    trajectories: list[PlacedTrajectory] = []
    session = string(value, "session_id")
    kind: ConversationKind = "compacted" if before else "main"
    waiting = [PlacedTrajectory(place, line, value, own_id(value) or place, kind, before, session)]
    while waiting:
        each = waiting.pop()
        inner = expect_object(each.trajectory, f"{each.place} is").get("subagent_trajectories") or []
        expect_list(inner, f"{each.place}: subagent_trajectories is")
        # A stack instead of recursion, because trajectories may be deeply nested.
        subagents = [_subagent(each, len(trajectories), number, agent) for number, agent in enumerate(inner)]
        waiting += reversed(subagents)
        trajectories.append(each._replace(began=_began(each.trajectory)))
    return _with_callers(trajectories)


def _subagent(outer: PlacedTrajectory, at: int, number: int, agent: Json) -> PlacedTrajectory:
    place, session = f"{outer.place}, subagent_trajectories[{number}]", string(agent, "session_id") or outer.session
    own = string(agent, "trajectory_id") or f"{outer.id}/{number + 1}"
    return PlacedTrajectory(place, outer.line, agent, own, "subagent", outer.id, session, at)


def _began(trajectory: Json) -> dict[str, str]:
    """Return the ids of calls by the ids of the trajectories that their results refer to."""
    calls: dict[str, str] = {}
    session = string(trajectory, "session_id")
    for step in objects(at(trajectory, "steps")):
        for result in objects(at(step, "observation", "results")):
            call_id = string(result, "source_call_id")
            for reference in objects(result.get(REFERENCE)) if call_id else ():
                # Before version 1.7, trajectories had only the id of a session, which may be that of the parent.
                name = string(reference, "trajectory_id") or string(reference, "session_id")
                if name and name != session:
                    calls.setdefault(name, call_id)
    return calls


def _with_callers(trajectories: list[PlacedTrajectory]) -> list[PlacedTrajectory]:
    """Add the calls that started sub-agents; the trajectory with the call is the parent, even if another contains it.

    References are resolved in the entire document. Only earlier trajectories count, so no trajectory is its own parent.
    """
    callers: dict[str, PlacedTrajectory] = {}
    with_parents: list[PlacedTrajectory] = []
    for each in trajectories:
        outer = None if each.outer is None else trajectories[each.outer]
        caller = outer if outer is None or each.id in outer.began else callers.get(each.id)
        with_parents.append(each._replace(parent=caller.id, call=caller.began[each.id]) if caller else each)
        for name in each.began:
            callers.setdefault(name, each)
    return with_parents


# Writing


def nest(family: list[tuple[int, Conversation, Json]]) -> Json:
    """Embed the trajectories of sub-agents in those that started them, with references in the results of the calls.

    Args:
        family: A conversation and its sub-agents in depth-first order, each with its depth and its own trajectory.
    """
    callers: list[_Caller] = []
    for depth, conversation, trajectory in family:
        origin = origin_of(conversation)
        del callers[depth:]
        callers.append(_Caller(callers[-1].embed(trajectory, origin) if callers else dict(trajectory), origin))
    return callers[0].trajectory


class _Caller:
    """A trajectory to which sub-agents are added."""

    def __init__(self, trajectory: Object, origin: Origin) -> None:
        self.trajectory, self._origin = trajectory, origin
        self._names: dict[str, int] = {}
        """The last number appended to each name."""
        self._references: dict[str, set[Json]] = {}
        """The ids of trajectories in the results of calls that started sub-agents."""

    def embed(self, trajectory: Object, origin: Origin) -> Object:
        """Add the trajectory of a sub-agent; return it with the id that the format requires."""
        name = self._free_name(string(trajectory, "trajectory_id") or "subagent")
        call_id = origin.call or self._origin.began.get(origin.id)
        mark = {KEY: {"call": call_id}} if call_id and not self._refer(call_id, name) else {}
        extra = {key: value for key, value in trajectory.get("extra", {}).items() if key != KEY} | mark
        document = {key: value for key, value in trajectory.items() if key != "extra"}
        document |= {"trajectory_id": name, **({"extra": extra} if extra else {})}
        self.trajectory.setdefault("subagent_trajectories", []).append(document)
        return document

    def _free_name(self, name: str) -> str:
        """Return a name that no other sub-agent of the trajectory has."""
        free = name
        while free in self._names:
            self._names[name] += 1
            free = f"{name}-{self._names[name]}"
        self._names[free] = 1
        return free

    @cached_property
    def _results(self) -> dict[str, Object]:
        """The result of each call."""
        steps = self.trajectory["steps"]
        results = (result for step in steps for result in at(step, "observation", "results") or ())
        return {each["source_call_id"]: each for each in results if "source_call_id" in each}

    def _refer(self, call_id: str, name: str) -> bool:
        """Add a reference to the result of a call, unless it has one; return whether the call has a result."""
        result = self._results.get(call_id)
        if result is None:
            return False
        names = self._references.get(call_id)
        if names is None:
            references: list[Object] = list(result.get(REFERENCE, ()))
            result[REFERENCE] = references  # a copy, because the source has the same list
            names = self._references[call_id] = {each.get("trajectory_id") for each in references}
        if name not in names:
            names.add(name)
            result[REFERENCE].append({"trajectory_id": name})
        return True
