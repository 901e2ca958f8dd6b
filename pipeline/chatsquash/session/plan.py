"""What happens to one session, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.checks import examine, reading
from chatsquash.checks.contents import unfit
from chatsquash.checks.phrases import Phrases
from chatsquash.checks.registry import View
from chatsquash.core.accounting import Usage
from chatsquash.core.memo import Last
from chatsquash.core.model import Conversation, Entry, LogHead, Mark, Message, SkippedLine, StageResult, Tool, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Rejection
from chatsquash.records import presets
from chatsquash.records.line import RecordLine
from chatsquash.redaction.pseudonyms import Anonymizer
from chatsquash.session.cleaning import clean
from chatsquash.session.ending import ending
from chatsquash.session.record_filters import measure
from chatsquash.session.select import select
from chatsquash.session.session import Session, Snapshot, tally
from chatsquash.session.stages import compose as record
from chatsquash.session.stages.checking import examined, validate, without_tools
from chatsquash.session.stages.compose import compose
from chatsquash.session.stages.public import leave_out, public, with_media
from chatsquash.session.stages.repeated_results import write_once
from chatsquash.session.stages.tools import known

if TYPE_CHECKING:
    from chatsquash.session.stages.public import Wanted

EntryStream = Iterator[Entry | SkippedLine]
EntryStage = Callable[[EntryStream], EntryStream]
ConversationStage = Callable[[Conversation], StageResult]
Check = Callable[[Conversation, View], Iterable[Violation]]


class EntryObserver(Protocol):
    """Sees the entries of a session while it is converted."""

    def watch_logged(self, items: EntryStream) -> EntryStream:
        """The entries as they were read."""

    def watch_cleaned(self, items: EntryStream) -> EntryStream:
        """Those that cleaning left."""

    def settle(self, seen: LogHead | None, session: Session) -> None:
        """What is known of the log, and what its lines came to."""


class Plan(NamedTuple):
    """What happens to a session, in order."""

    entries: tuple[EntryStage, ...]
    """Over the stream of its entries."""
    select: Callable[[EntryStream], Session]
    """To the entry that becomes the record."""
    compose: Callable[..., StageResult]
    """To the conversation of that entry."""
    logged: tuple[ConversationStage, ...]
    """Over the conversation, to what was logged as chat messages have it."""
    checks: tuple[Check, ...]
    """Of what was logged."""
    measure: Callable[[View, dict[int, int]], Usage]
    refuse: Callable[[View], Violation | None]
    """Why the preset cannot have what was logged."""
    conversation: tuple[ConversationStage, ...]
    """Over the conversation, to what the record is to hold."""
    record: Callable[[Conversation], RecordLine]
    is_shaped: bool = False
    """Whether the record is for training, in the shape of a preset."""

    def through(self, items: EntryStream) -> EntryStream:
        """The entries that the entry stages leave of a stream."""
        for stage in self.entries:
            items = stage(items)
        return items

    def finish(
        self,
        snapshot: Snapshot,
        *,
        loaded: bool,
        source: str | None,
        version: str | None = None,
        marks: list[Mark] | None = None,
    ) -> tuple[Record | Rejection, list[Violation]]:
        """The record of a snapshot, or why there is none, and what was found on the way.

        ``marks`` are those of its assistant messages; the record has them as they are in it.
        """
        conversation, composed = self.compose(snapshot, loaded=loaded, source=source, version=version)
        shared = {id(conversation.messages[at]): number for at, number in snapshot.shared.items()}
        if marks is not None:
            conversation = replace(conversation, marks=marks)
        logged = conversation.messages
        conversation, findings = through(self.logged, conversation)
        findings = [*composed, *findings]
        if why := self._unanswered(replace(conversation, messages=logged), snapshot):
            return Rejection(why), [why]
        view = View(conversation, redefined=snapshot.redefined)
        for check in self.checks:
            findings += check(conversation, view)
        usage = self.measure(view, shared)
        ended = ending(view, snapshot.entry.reply, snapshot.entry.origin, source)
        why = self.refuse(view)
        if why:
            findings = [*(each for each in findings if each != why), why]
        if snapshot.entry.origin:
            findings = as_logged(findings, logged, conversation.messages)
        if why:
            return Rejection(why), findings
        without = without_tools(conversation) if self.checks else ""
        conversation, more = through(self.conversation, conversation)
        line = self.record(conversation)
        findings += [*more, *line.findings]
        if line.data is None:
            assert line.refused
            return Rejection(line.refused), findings
        digest = xxh3_128_digest(line.data)
        made = Record(line.data, usage, line.images, without, unflagged=line.unflagged, marks=line.marks, digest=digest)
        return replace(made, ending=ended), findings

    def _unanswered(self, conversation: Conversation, snapshot: Snapshot) -> Violation | None:
        """Why there is no record of a session without any reply; the specified record of a log has the request."""
        if any(message["role"] == "assistant" for message in conversation.messages):
            return None
        is_specified = not (self.is_shaped or snapshot.entry.origin)
        if is_specified and (conversation.messages or not conversation.has_private):
            return None
        return reading.unanswered_session(snapshot.entry.reply.problem or "")


def asks_for_kinds(options: Options) -> bool:
    """Whether options ask for more of the conversations of a session than which replies its record holds."""
    asks = options.trace_replies or options.divides or options.cuts or options.pairs != "none" or options.keep != "none"
    return asks or options.restore != "none" or options.loss != "none"


def as_logged(findings: list[Violation], logged: list[Message], messages: list[Message]) -> list[Violation]:
    """Facts on messages, each with where its message was logged, as far as messages were added or left out."""
    if len(logged) == len(messages) and all(map(is_, logged, messages)):
        return findings
    places = {id(message): at for at, message in enumerate(logged)}
    return [
        each if each.at is None else each._replace(log_index=places.get(id(messages[each.at]), each.log_index))
        for each in findings
    ]


def through(stages: Iterable[ConversationStage], conversation: Conversation) -> tuple[Conversation, list[Violation]]:
    """What stages make of a conversation, one after the other, and what they found."""
    findings: list[Violation] = []
    for stage in stages:
        conversation, more = stage(conversation)
        findings += more
    return conversation, findings


def plan(options: Options, anonymizer: Anonymizer | None) -> Plan:
    """What the options ask for."""
    is_shaped = options.preset != presets.DEFAULT
    joins = _joins(options)
    checks = partial(examined, keeps_reasoning=options.reasoning == "keep", holds_arguments=options.check_arguments)
    return Plan(
        entries=(
            *([partial(clean, chosen=options.cleanups)] if options.cleanups else []),
            partial(
                validate,
                keep=options.on_invalid == "keep",
                merge=options.merges,
                joined=options.sessions_by == "chain",
            ),
        ),
        select=partial(
            select,
            trace_roles=options.integrity_analysis,
            last_tools=options.tools == "last",
            trace_calls=options.check_arguments,
            begin=partial(
                tally,
                looks_closely=options.restore in ("results", "all"),
                lazily=not asks_for_kinds(options),
                lists_entries=options.divides,
                keeps_logprobs=options.keep == "logprobs",
            ),
        ),
        compose=compose,
        logged=(
            partial(write_once, loaded_only=not is_shaped and options.writes_last),
            partial(leave_out, joins=joins, judged=is_shaped and options.media != "drop"),
            *_supplied(options),
        ),
        checks=(checks,) if options.integrity_analysis else (),
        measure=measure,
        refuse=unfit if is_shaped else _nothing,
        conversation=(*_to_chat(options, joins), *_as_asked(options, anonymizer)),
        record=_record(options),
        is_shaped=is_shaped,
    )


def _supplied(options: Options) -> Iterator[ConversationStage]:
    """The stage that gives a conversation what its log lacks."""
    if options.tools_file is None and options.system_file is None:
        return
    from chatsquash.session.stages import supplied_definitions

    yield partial(supplied_definitions.supply, given=supplied_definitions.tables(options))


def _nothing(view: View) -> None:
    """The specified record holds whatever was logged."""
    del view


def _record(options: Options) -> Callable[[Conversation], RecordLine]:
    phrases = Phrases(options.flag_phrase) if options.integrity_analysis else None
    flag = None if options.flag == "none" or options.samples != "session" else options.flag
    if options.preset == presets.DEFAULT:
        return partial(record.specified, phrases=phrases, in_folder=options.folder, flag=flag)
    preset, choices = presets.named(options.preset), presets.choices(options)
    return partial(record.shape, preset=preset, choices=choices, phrases=phrases, flag=flag)


def _joins(options: Options) -> Wanted | None:
    """Of which messages the texts are to be one; of none in the specified record, unless calls are inlined."""
    if options.preset != presets.DEFAULT:
        return lambda message: True  # noqa: ARG005
    if not options.json_tool_calls:
        return None
    from chatsquash.session.stages.reasoning import is_inlined

    return is_inlined


def _to_chat(options: Options, joins: Wanted | None) -> Iterator[ConversationStage]:
    """The stages that make plain chat messages of what was loaded, texts as one where they are to be."""
    if options.preset != presets.DEFAULT:
        yield with_media
    if options.mark_failed_results:
        from chatsquash.session.stages.failed_results import mark_failed_results

        yield mark_failed_results
    if joins:
        from chatsquash.session.stages.public import join_texts

        yield partial(join_texts, wanted=joins, loaded_only=options.reasoning == "keep")
    yield public


def _as_asked(options: Options, anonymizer: Anonymizer | None) -> Iterator[ConversationStage]:
    """The stages that options ask for, in order; those that few runs ask for are imported here."""
    if options.tools == "used":
        from chatsquash.session.stages.tools import used_tools

        yield used_tools
    if options.enums == "text":
        from chatsquash.session.stages.tools import enums_as_texts

        yield enums_as_texts
    if options.reasoning != "keep" or options.preset != presets.DEFAULT:
        from chatsquash.session.stages.reasoning import reason

        yield partial(reason, mode=options.reasoning)
    if options.system == "drop":
        from chatsquash.session.stages.templates import drop_system

        yield drop_system
    if anonymizer:
        yield partial(_anonymize, anonymizer, Last(partial(_without_addresses, anonymizer)))
    yield from _rearranged(options)
    if options.json_tool_calls:
        yield partial(_inline, check=options.integrity_analysis)


def _rearranged(options: Options) -> Iterator[ConversationStage]:
    """Those of them that join and divide messages."""
    if options.bridge_results == "join" and options.preset == presets.DEFAULT:
        from chatsquash.session.stages.templates import bridge_results  # presets do so once results have their places

        yield bridge_results
    if options.merge_consecutive:
        from chatsquash.session.stages.templates import merge_consecutive

        yield merge_consecutive
    if options.drop_text_beside_calls:
        from chatsquash.session.stages.templates import drop_text_beside_calls

        yield drop_text_beside_calls
    if options.split_parallel:
        from chatsquash.session.stages.templates import split_parallel

        yield split_parallel
    if options.split_text_and_calls:
        from chatsquash.session.stages.templates import split_text_and_calls

        yield split_text_and_calls
    if options.tool_ids == "short9":
        from chatsquash.session.stages.templates import shorten

        yield shorten


def _inline(conversation: Conversation, *, check: bool) -> StageResult:
    from chatsquash.session.stages.reasoning import inline

    inlined, findings = inline(conversation)
    return inlined, [*findings, *(examine(View(inlined, conversation.messages), "inlined") if check else ())]


def _anonymize(
    anonymizer: Anonymizer,
    counted: Callable[[list[Tool]], tuple[list[Tool], int]],
    conversation: Conversation,
) -> StageResult:
    tools, replaced = counted(conversation.tools)
    anonymizer.count += replaced
    messages, written = anonymizer.messages(conversation.messages)
    return Conversation(messages, tools, encoded_messages=written, marks=conversation.marks), ()


def _without_addresses(anonymizer: Anonymizer, tools: list[Tool]) -> tuple[list[Tool], int]:
    """Tool definitions without addresses, and how many were replaced."""
    definitions = known(tools)
    if not any(definition.may_have_address for definition in definitions):
        return tools, 0
    both = zip(tools, definitions, strict=True)
    replaced = [anonymizer.counted(tool) if definition.may_have_address else (tool, 0) for tool, definition in both]
    return [tool for tool, _ in replaced], sum(count for _, count in replaced)
