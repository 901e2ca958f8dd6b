"""ATIF, the Agent Trajectory Interchange Format: steps that contain the results of their calls."""

from __future__ import annotations

from collections.abc import Iterator
from glob import escape
from typing import TypeVar, get_args

from msgspec import structs

from chatsquash.core.blocks import FORM, Media, Native, Result, Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation, ConversationKind, Json, Origin, Tool
from chatsquash.core.scores import read_scores
from chatsquash.core.times import Moment
from chatsquash.core.token_ids import ID_SIZE, NUMBER_SIZE, TokenIds, pack_ids, pack_numbers
from chatsquash.formats import evidence
from chatsquash.formats.base import TurnError, expect_list, expect_object
from chatsquash.formats.calls import KEY, UNPARSED, arguments, function_call
from chatsquash.formats.evidence import (
    Evidence,
    LoggedTurn,
    Unread,
    line_numbers,
    load_conversation,
    moment,
    with_origin,
)
from chatsquash.formats.exports._atif_members import (
    FINAL_METRICS,
    METRICS,
    REFERENCE,
    describe,
    describe_step,
    is_finite,
    is_reference_only,
)
from chatsquash.formats.exports._atif_subagents import PlacedTrajectory, nest, own_id, trajectories_in
from chatsquash.formats.exports._atif_writer import dump
from chatsquash.formats.parts import audio, data_url, image
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, compact, count, members, objects, string
from chatsquash.formats.writing import are_instructions

__all__ = ["HAS_TOOLS", "NAME", "conversations", "defined_tools", "dump", "fits", "nest"]

NAME = "atif"
HAS_TOOLS = True
MEMBERS = ("schema_version",)

T = TypeVar("T")
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_LINKS = ("subagent_trajectories", "continued_trajectory_ref")
_TRAJECTORY = ("schema_version", "session_id", "trajectory_id", "agent", "steps", "extra", "final_metrics", *_LINKS)
_AGENT = ("name", "version", "model_name", "tool_definitions")
_CONTENT = ("step_id", "timestamp", "source", "message", "reasoning_content", "tool_calls", "observation")
_STEP = (*_CONTENT, "model_name", "reasoning_effort", "metrics", "is_copied_context", "llm_call_count")
_METRICS, _TOKENS = set(METRICS) - {"extra"}, ("prompt_token_ids", "completion_token_ids", "logprobs")
_FAILED = ("is_error", "tool_result_is_error")
_KINDS = frozenset(get_args(ConversationKind)) - {"main"}
_REWARDED: tuple[tuple[str, ...], ...] = ((), ("rewards",), ("extra",), ("final_metrics",), ("final_metrics", "extra"))
"""The objects that may contain a reward."""
_OUTER_SESSION = "parent_session_id"
"""The member of an agent's ``extra`` with the session of the parent, in files that Terminus 2 writes for sub-agents."""
_TRIAL, _RESULT = "agent/trajectory.json", "result.json"
"""The files that Harbor writes for a trial, relative to its folder."""


def fits(values: list[Json]) -> str | None:
    """Check whether every object has a version of ATIF."""
    versions = [string(each, "schema_version") for each in values]
    return f"schema_version {versions[0]}" if values and all(each.startswith("ATIF-") for each in versions) else None


def companions(name: str) -> str | None:
    """Return the path of the result of the Harbor trial that a trajectory belongs to."""
    return f"../{_RESULT}" if name == _TRIAL.rpartition("/")[2] else None


def owner(path: str) -> str | None:
    """Return the path of a Harbor trial's trajectory, given the path of its result."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{_TRIAL}" if name == _RESULT else None


def home(path: str, origin: Origin) -> str | None:
    """Return a glob for the trajectory of the session that started a sub-agent, which is in the same folder."""
    if not origin.session_id or not origin.parent or origin.session_id == origin.parent:
        return None
    folder, slash, _ = path.rpartition("/")
    _, is_continued, number = origin.parent.rpartition("-cont-")
    name = f"trajectory.cont-{number}.json" if is_continued and number.isdecimal() else "trajectory.json"
    return f"{escape(folder)}{slash}{name}*"


def session(path: str, origin: Origin) -> str | None:
    """Return the name of a Harbor trial's folder, which is the name of the trial."""
    del origin
    trial = f"/{path}".removesuffix(f"/{_TRIAL}")
    return trial.rpartition("/")[2] or None if trial != f"/{path}" else None


def conversations(
    values: list[Json], lines: list[int] | None = None, meta: Json = None, *, with_token_ids: bool = False
) -> list[Conversation]:
    """Return a conversation for each trajectory, followed by the conversations of its sub-agents.

    ``meta`` is the result of the Harbor trial.
    """
    unread, converted, before = Unread(), list[Conversation](), ""
    for place, (number, value) in enumerate(zip(line_numbers(values, lines), values, strict=True), 1):
        for each in trajectories_in(value, f"entry {place}", number, before):
            if conversation := _conversation(each, unread, with_token_ids=with_token_ids):
                converted.append(conversation)
        # The next trajectory in the file continues a trajectory with this reference.
        before = own_id(value) or f"entry {place}" if value.get("continued_trajectory_ref") else ""
    reward_members = _reward(at(meta, "verifier_result"), _RESULT)
    converted = [
        with_origin(each, **reward_members) if evidence.origin_of(each).kind != "subagent" else each
        for each in converted
    ]
    return [with_origin(each, unread=unread.counts_for(number)) for number, each in enumerate(converted)]


def _conversation(each: PlacedTrajectory, unread: Unread, *, with_token_ids: bool) -> Conversation | None:
    """Convert a trajectory; return ``None`` if all its steps are copied context."""
    place, trajectory = each.place, each.trajectory
    steps = expect_list(trajectory.get("steps"), f"{place}: steps is")
    unread.count_members("trajectory", trajectory, *_TRAJECTORY)
    # All members of ``extra`` of agents are counted, even members that are read, such as a reward.
    unread.count_members("trajectory.extra", trajectory.get("extra"), KEY)
    unread.count_members("final_metrics", trajectory.get("final_metrics"), *FINAL_METRICS)
    unread.count_members("agent", trajectory.get("agent"), *_AGENT)
    turns: list[LoggedTurn] = []
    descriptions: list[Object] = []
    for number, step in enumerate(steps):
        where = f"{place}, steps[{number}]"
        expect_object(step, f"{where} is")
        unread.count_members("step", step, *_STEP)
        unread.count_members("step.metrics", step.get("metrics"), *_METRICS, *(_TOKENS if with_token_ids else ()))
        time = moment(step.get("timestamp"))
        known = _evidence(step, each.line, time, string(trajectory.get("agent"), "model_name"))
        known = structs.replace(known, token_ids=_token_ids(step)) if with_token_ids and known.is_sampled else known
        turns += [LoggedTurn(where, turn, known) for turn in _turns(step, where)]
        descriptions.append(describe_step(step, time))
    if all(step.get("is_copied_context") is True for step in steps):
        return None  # all steps were produced elsewhere
    tools = openai_chat.tools(at(trajectory, "agent", "tool_definitions")).functions
    converted = load_conversation(openai_chat, turns, tools, **_links(each), **_reward(trajectory, "trajectory"))
    # Like session ids, these members describe the trajectory and are not content that other formats lose.
    native: Native = {FORM: describe(trajectory, descriptions)}
    media_types = dict(_media_types(steps))
    if not media_types:
        return structs.replace(converted, native=native)
    turns_with_types = tuple(_with_types(turn, media_types) for turn in turns_of(converted))
    return structs.replace(converted, native=native, turns=turns_with_types)


def _media_types(steps: list[Json]) -> Iterator[tuple[str, str]]:
    """Yield the path and the media type of each image or sound that is a file."""
    for step in steps:
        contents = [
            at(step, "message"),
            *(result.get("content") for result in objects(at(step, "observation", "results"))),
        ]
        for part in (part for content in contents for part in objects(content)):
            path, media_type = string(at(part, "source"), "path"), string(at(part, "source"), "media_type")
            if path and media_type:
                yield path, media_type


def _with_types(part: T, types: dict[str, str]) -> T:
    """Return a turn or a block with the media types of files, for which chat messages have no member."""
    if isinstance(part, Media):
        return structs.replace(part, mime=types.get(part.url, part.mime))
    if isinstance(part, Turn):
        return structs.replace(part, blocks=tuple(_with_types(block, types) for block in part.blocks))
    if isinstance(part, Result):
        return structs.replace(part, content=tuple(_with_types(block, types) for block in part.content))
    return part


def _links(each: PlacedTrajectory) -> Object:
    """Return the ids and the kind of a trajectory; they may be in ``extra`` if chatsquash wrote it."""
    links: Object = {"id": each.id, "session_id": each.session or None, "began": each.began}
    own, kind, parent = at(each.trajectory, "extra", KEY), each.kind, each.parent
    if kind == "main" and string(own, "kind") in _KINDS:
        kind, parent = own["kind"], string(own, "parent")
    elif kind == "main" and (outer := string(at(each.trajectory, "agent", "extra"), _OUTER_SESSION)):
        kind, parent = "subagent", outer
    call_id = each.call or string(own, "call")
    return {**links, "kind": kind, "parent": parent or None, "call": call_id or None}


def defined_tools(document: Json) -> list[Tool]:
    """Return the tool definitions in a trajectory."""
    return openai_chat.tools(at(document, "agent", "tool_definitions")).functions


def _reward(holder: Json, name: str) -> Object:
    """Return the reward of a trajectory that the agent or the verifier of its task wrote, and the named rewards."""
    rewards = members(at(holder, "rewards")).items()
    scores: Object = {"scores": read_scores(rewards, f"rewards of the {name}", is_shared=True)} if rewards else {}
    for path in _REWARDED:
        value = at(holder, *path, "reward")
        if is_finite(value):
            source = f"{'.'.join((*path, 'reward'))} of the {name}"
            return {"reward": float(value), "reward_evidence": source, **scores}
    return scores


def _evidence(step: Object, line: int, time: Moment | None, model: str) -> Evidence:
    """Return the evidence for a step; for copied context, which was produced elsewhere, only the line."""
    if step.get("is_copied_context") is True:
        return Evidence(line)
    metrics = step.get("metrics")
    # Agents may write steps without calling a model.
    if step.get("source") != "agent" or step.get("llm_call_count") == 0:
        return Evidence(line, time)
    tokens = count(at(metrics, "prompt_tokens")), count(at(metrics, "completion_tokens"))
    return Evidence(line, time, True, string(step, "model_name") or model or None, *tokens)


def _token_ids(step: Object) -> TokenIds | None:
    """Return the token ids in the metrics of a step."""
    prompt, completion, logprobs = (at(step, "metrics", name) for name in _TOKENS)
    ids, numbers = pack_ids(completion), pack_numbers(logprobs)
    fits = numbers is not None and len(numbers) // NUMBER_SIZE == len(ids) // ID_SIZE
    known = TokenIds(pack_ids(prompt), ids, numbers if fits else None)
    return known if known.prompt and ids else None


def _turns(step: Object, where: str) -> Iterator[Object]:
    """Yield the message of a step and the results in its observation."""
    role = _ROLES.get(string(step, "source"))
    if role is None:
        source = compact(step.get("source"))[:40]
        raise TurnError(f"{where}: unknown source {source}; expected one of {', '.join(_ROLES)}")
    calls = [
        function_call(call.get("tool_call_id"), call.get("function_name"), _arguments(call.get("arguments")))
        for call in objects(step.get("tool_calls"))
    ]
    content = _content(step.get("message"))
    message: Object = {"role": role, "content": None if calls and content == "" else content}
    if are_instructions(step.get("extra")):
        message[KEY] = step["extra"][KEY]
    if role == "assistant" and string(step, "reasoning_content"):
        message["reasoning_content"] = step["reasoning_content"]
    yield {**message, "tool_calls": calls} if calls else message
    for result in objects(at(step, "observation", "results")):
        if calls or not is_reference_only(result):
            yield _result(result, has_calls=bool(calls))


def _result(result: Object, *, has_calls: bool) -> Object:
    """Convert a result; observations without a call become user messages."""
    call_id, content = string(result, "source_call_id"), _content(result.get("content"))
    if not call_id and not has_calls:
        return {"role": "user", "content": content}
    references = result.get(REFERENCE)
    native: Object = {"native": {NAME: {REFERENCE: references}}} if references else {}
    if any(at(result, "extra", name) is True for name in _FAILED):
        native["outcome"] = "failed"
    return {"role": "tool", "tool_call_id": call_id, "content": content, PRIVATE: Private(native)}


def _arguments(value: Json) -> Json:
    """Return arguments; those that could not be written as an object are restored."""
    return arguments(value) if isinstance(value, dict) and UNPARSED in value else value


def _content(content: Json) -> Json:
    """Convert content to a string or OpenAI chat parts."""
    if isinstance(content, list):
        return [_part(part) for part in content]
    return "" if content is None else content


def _part(part: Json) -> Json:
    """Convert a part; images may be inline data or paths."""
    match part:
        case {"type": "image", "source": {"media_type": str(mime), "data": str(data)}}:
            return image(data_url(mime, data))
        case {"type": "image", "source": {"path": str(path)}}:
            return image(path)
        case {"type": "audio", "source": {"path": str(path)}}:
            return audio(path)
    return part


LOSES = """
developer role, developer mid, image data, image between text, audio, video, pdf, file id of OpenAI, file id of
Anthropic, result image, result file, approval, orphan result, refusal, custom tool call, hosted call, unanswered hosted
call, source
"""
BLURS = """
instructions, text after call, result json obj, result json list, denied result, reasoning of two blocks, reasoning
between, anthropic signature, anthropic redacted, openai encrypted, gemini call sig, native members
"""
