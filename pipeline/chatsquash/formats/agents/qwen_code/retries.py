"""Qwen Code replies that a retry replaced, and the requests that still contain them.

Qwen Code retries a reply if its stream was interrupted, or, with a higher limit, if it reached the token limit.  The
request of the retry does not contain the first reply, and neither do later requests from the same process.  A process
that resumes the session reads both replies from the file and sends both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate

from msgspec.structs import replace

from chatsquash.formats.evidence import LoggedTurn, Unread
from chatsquash.formats.threads import BRANCH_BEYOND, ROOT, EntryBudget, ThreadEntry
from chatsquash.formats.truncation import as_truncated
from chatsquash.formats.values import Object, at, count, string

_EVENT = ("systemPayload", "uiEvent")
_COUNT = "########"
"""The separator in a prompt id, before the prompt number."""
_DIGITS = 10


class Retries:
    """The replaced replies of a file."""

    def __init__(self, steps: list[ThreadEntry], values: list[Object], before: list[int]) -> None:
        self.steps = steps
        self._replaced = set[int]()
        self._processes = _processes(values)
        self._context = dict[int, int]()
        """Copies of replies as context for later processes, by entry."""
        if any(each.get("usageMetadata") or at(each, *_EVENT, "input_token_count") for each in values):
            self._mark_truncated([count(at(each, "usageMetadata", "promptTokenCount")) for each in values], before)

    def apply(self, thread_paths: list[list[int]], unread: Unread) -> list[list[int]]:
        """Return the paths that the model saw, then the paths up to the ends of processes with retries."""
        if not self._replaced:
            return thread_paths
        requests, earlier, budget = list[list[int]](), list[list[int]](), EntryBudget(len(self.steps))
        for path in thread_paths:
            request, ends = self._request(path)
            requests.append(request)
            for end in ends:
                if budget.take(end):
                    earlier.append(self._request(path[:end])[0])
                else:
                    unread.count(BRANCH_BEYOND)
        requests += earlier
        for _ in self._replaced.difference(*requests):
            unread.count("reply that later requests do not contain")
        return requests

    def _mark_truncated(self, prompts: list[int | None], before: list[int]) -> None:
        """Mark replies as truncated if they have no token counts, or if a reply to the same request follows."""
        truncated = {place for place, each in enumerate(self.steps) if each.is_sampled and prompts[place] is None}
        pairs = [*self._consecutive_replies(before)]
        retries = {
            place for place, first in pairs if first in truncated or (prompts[place] or 0) <= (prompts[first] or 0)
        }
        self._replaced = {first for place, first in pairs if place in retries}
        for place, first in pairs:
            if (
                place not in retries
            ):  # a message that is not logged lets the model continue, after a retry for its limit
                self._mark(place, _without_context)
                truncated |= {first} & retries
        for place in truncated | self._replaced:
            self._mark(place, as_truncated)

    def _consecutive_replies(self, before: list[int]) -> Iterator[tuple[int, int]]:
        """Yield each reply that directly follows another reply, with the other reply."""
        for place, each in enumerate(self.steps):
            first = before[place] if each.is_sampled else ROOT
            while first != ROOT and not self.steps[first].turns:
                first = before[first]
            if first != ROOT and self.steps[first].is_sampled:
                yield place, first

    def _mark(self, place: int, mark: Callable[[LoggedTurn], LoggedTurn]) -> None:
        step = self.steps[place]
        self.steps[place] = replace(step, turns=tuple(map(mark, step.turns)))

    def _request(self, path: list[int]) -> tuple[list[int], list[int]]:
        """Return the path that its last process sent, and the ends of processes whose requests omitted replies."""
        eras = [*accumulate(int(self.steps[entry].is_summary) for entry in path)]
        last = {
            era: self._processes[entry] for entry, era in zip(path, eras, strict=True) if self.steps[entry].is_sampled
        }
        request, ends = list[int](), list[int]()
        retrying: tuple[int, int] | None = None
        for index, (entry, era) in enumerate(zip(path, eras, strict=True)):
            process = self._processes[entry]
            if retrying and retrying != (era, process):
                ends.append(index)
                retrying = None
            if entry in self._replaced:
                if process == last[era]:
                    continue  # the process that retried the reply did not send it
                retrying = (era, process)
            is_retry = retrying and entry not in self._replaced and self.steps[entry].is_sampled
            request.append(self._as_context(entry) if is_retry else entry)
        return request, ends

    def _as_context(self, entry: int) -> int:
        """Return an entry that contains a reply as context, because another path contains it as a reply."""
        if entry not in self._context:
            turns = self.steps[entry].turns
            self._context[entry] = len(self.steps)
            self._processes.append(self._processes[entry])
            self.steps.append(ThreadEntry(tuple(map(_unsampled, turns))))
        return self._context[entry]


def _without_context(turn: LoggedTurn) -> LoggedTurn:
    return replace(turn, evidence=replace(turn.evidence, lacks_context=True))


def _unsampled(turn: LoggedTurn) -> LoggedTurn:
    return replace(turn, evidence=replace(turn.evidence, is_sampled=False))


def _processes(values: list[Object]) -> list[int]:
    """Return the number of the process that wrote each line."""
    # Non-interactive processes use a unique id for their prompt; interactive processes number prompts from the start.
    processes, process, prompt = list[int](), 0, 0
    session, number, has_prompt = "", 0, False
    for place, value in enumerate(values):
        if value.get("type") == "user":
            prompt, has_prompt = place, True
        processes.append(process)
        known, mark, number_text = string(at(value, *_EVENT), "prompt_id").partition(_COUNT)
        if not known or (not mark and "#" in known):
            continue  # a request from a sub-agent, or outside of turns
        own = int(number_text) if number_text.isascii() and number_text.isdigit() and len(number_text) < _DIGITS else 0
        is_restart = own < number or (own == number and bool(mark) and has_prompt)
        if session and (known != session or is_restart):
            process += 1
            processes[prompt:] = [process] * (place + 1 - prompt)
        session, number, has_prompt = known, own, False
    return processes
