"""Runs of LangSmith. Those of language models are exchanges, whose messages may be in LangChain's own format."""

from __future__ import annotations

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.score_rows import ScoreRow, ScoreSubject
from chatsquash.core.scores import Score, read_score, read_scores
from chatsquash.formats.values import at, objects
from chatsquash.formats.values import members as members_of
from chatsquash.reading.envelopes import _bodies
from chatsquash.reading.members import Members, first_present, present, unquoted_value

NAME = "LangSmith"
WHAT = "`{run_type: llm, inputs, outputs, start_time, extra}`"
NEEDS = (frozenset(("run_type", "inputs")),)
SESSION = ("trace_id",)
MIXES = True
SCORES = SCORE_ROWS = b'"feedback_stats"', b'"feedback"'

_THREADS = ("thread_id", "session_id", "conversation_id")
_DEEPEST = 1_000
"""The maximum number of runs that contain a run."""


def fits(line: Members) -> bool:
    """Return whether a line with these members is not in the standard envelope."""
    return "request" not in line


def describe_non_exchange(line: Members) -> str | None:
    """Describe a run that is not an exchange."""
    # Chains and tools repeat the content of model runs.
    kind = jsonio.value(line["run_type"])
    return None if kind == "llm" else f"run of type {kind}"


def session(line: Members) -> bytes | None:
    """Return the client's thread id, or else the trace id."""
    # LangSmith's own session id identifies a project.
    metadata = at(unquoted_value(line.get("extra")), "metadata")
    thread = next((value for name in _THREADS if isinstance(value := at(metadata, name), str) and value), None)
    return jsonio.dumps(thread) if thread else first_present(line, ("trace_id", "id"))


def unwrap(line: Members) -> Members:
    """Return the inputs as a request and the outputs as a response."""
    extra = unquoted_value(line.get("extra"))
    request = _request(unquoted_value(line.get("inputs")), extra)
    outputs = unquoted_value(line.get("outputs"))
    has_failed = jsonio.value(line.get("error", b"null")) not in (None, "")
    return present(
        request=jsonio.dumps(request) if request else None,
        response=jsonio.dumps(_response(outputs, request)) if outputs is not None else None,
        status=b"500" if has_failed else None,
        timestamp=line.get("start_time"),
        session_id=session(line),
        problem=b'"its inputs have no messages"' if not request else None,
    )


def scores(line: Members) -> tuple[Score, ...]:
    """Return the feedback for a run: averages by key, and single rows."""
    return read_scores(_feedback(line), NAME)


def score_rows(line: Members) -> list[ScoreRow]:
    """Return the feedback for a run that is not an exchange, such as a chain of model calls."""
    if describe_non_exchange(line) is None:
        return []
    run = ScoreSubject(_text(line, "id"), _text(line, "trace_id"))
    return [
        ScoreRow(f"{run.exchange}/{number}", run, read_score(key, value, NAME))
        for number, (key, value) in enumerate(_feedback(line))
    ]


def subject(line: Members) -> ScoreSubject:
    """Return the ids of a run and of the runs that contain it."""
    parents = unquoted_value(line.get("parent_run_ids"))
    above = [each for each in parents if isinstance(each, str)] if isinstance(parents, list) else []
    order = _text(line, "dotted_order").split(".")[:_DEEPEST]
    ids = [_text(line, "parent_run_id"), *above, *(each.partition("Z")[2] for each in order), _text(line, "trace_id")]
    name = _text(line, "id")
    return ScoreSubject(name, _text(line, "trace_id"), parents=tuple(dict.fromkeys(each for each in ids if each)))


def _text(line: Members, name: str) -> str:
    value = jsonio.value(line.get(name, b"null"))
    return value if isinstance(value, str) else ""


def _feedback(line: Members) -> list[tuple[Json, Json]]:
    """Return the names and values of averages and single rows."""
    averages = members_of(unquoted_value(line.get("feedback_stats")))
    rows = objects(unquoted_value(line.get("feedback")))
    values = [(each.get("key"), each.get("value") if each.get("score") is None else each["score"]) for each in rows]
    return [*((key, _average(stats)) for key, stats in averages.items()), *values]


def _average(stats: Json) -> Json:
    """Return the average of the scores for a key, or the label if all feedback has the same one."""
    labels = members_of(at(stats, "values"))
    average = at(stats, "avg")
    return next(iter(labels)) if average is None and len(labels) == 1 else average


def _request(inputs: Json, extra: Json) -> dict[str, Json] | None:
    request = _bodies.request(inputs) if isinstance(inputs, dict) else None
    if request is None:
        return None
    parameters = at(extra, "invocation_params")
    tools = request.get("tools") or at(parameters, "tools") or request.get("functions") or at(parameters, "functions")
    model = at(extra, "metadata", "ls_model_name") or at(parameters, "model") or request.get("model")
    limit = at(parameters, "max_tokens")
    request |= {"model": model} if isinstance(model, str) else {}
    request |= {"max_tokens": limit} if isinstance(limit, int) and "max_tokens" not in request else {}
    return {**request, "tools": tools} if isinstance(tools, list) and tools else request


def _response(outputs: Json, request: dict[str, Json] | None) -> Json:
    """Return the outputs as a chat response, unless they are a provider's body."""
    messages = at(outputs, "messages")
    if isinstance(messages, list) and messages:
        outputs = messages[-1:]
    return _bodies.response(outputs, at(request, "model"))
