"""The steps of converting one session, in order.

``plan`` builds them once per run from the options. A session then passes through these steps:

1. Entry stages process the stream of log entries. Cleaning removes additions of the agent;
   validation checks session ids and timestamps.
2. ``select`` consumes the stream and picks the snapshot: the last entry with the most messages. On the way it counts
   every line, collects tool definitions and tracks which reply each request continues.
3. ``compose`` appends the reply to the messages of the snapshot; later steps work on the resulting conversation.
4. Logged stages correct what the log contains: repeated results are removed, unsupported content is dropped, missing
   definitions are supplied.
5. The checks run, tool use is counted, the ending is determined, and a preset may reject the conversation. These steps
describe the log, so they precede the changes that the options request.
6. Record stages apply these changes: tools, reasoning, system prompt, pseudonyms for addresses, message layout.
7. ``encode`` writes the record line.

Steps 3 to 7 (``Plan.make_record``) run once per record. A session with several conversations, or with samples, has
several snapshots and repeats them.

Not in this module: reading and splitting logs (``chatsquash.reading``, ``parts`` and ``chains``), choosing the
conversations of a session (``conversations``, ``agents``, ``sample_records``, ``sample_documents``), and redaction,
which follows the records (``privacy``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.checks import examine, reading
from chatsquash.checks.phrases import Phrases
from chatsquash.checks.registry import View
from chatsquash.core.accounting import Usage
from chatsquash.core.memo import Last
from chatsquash.core.model import Conversation, Entry, LogHead, Mark, Message, SkippedLine, StageResult, Tool, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Ending, Record, Rejection
from chatsquash.records import RecordLine, presets
from chatsquash.redaction.pseudonyms import Anonymizer
from chatsquash.session import record_measures
from chatsquash.session.cleaning import clean
from chatsquash.session.ending import detect_ending
from chatsquash.session.select import select
from chatsquash.session.session import Session, Snapshot, begin_tally
from chatsquash.session.stages import compose as record
from chatsquash.session.stages.checking import check_conversation, format_without_tools, validate
from chatsquash.session.stages.compose import compose
from chatsquash.session.stages.public import add_media, drop_unsupported, remove_private
from chatsquash.session.stages.tools import analyse_definitions, drop_repeated_results, mark_failed_results

if TYPE_CHECKING:
    from chatsquash.session.stages.public import MessageFilter
    from chatsquash.trees.growth_tracking import TreesAfter

EntryStream = Iterator[Entry | SkippedLine]
EntryStage = Callable[[EntryStream], EntryStream]
ConversationStage = Callable[[Conversation], StageResult]
Check = Callable[[Conversation, View], Iterable[Violation]]


class EntryObserver(Protocol):
    """Observes the entries of a session during the conversion."""

    def watch_logged(self, items: EntryStream) -> EntryStream:
        """Observe the entries as they were read."""

    def watch_cleaned(self, items: EntryStream) -> EntryStream:
        """Pass on the entries after cleaning and validation."""

    def settle(self, seen: LogHead | None, session: Session) -> None:
        """Receive the format of the log and the resulting session."""


class Plan(Struct, frozen=True):
    """The steps of converting a session, in order."""

    entry_stages: tuple[EntryStage, ...]
    """Stages over the stream of entries."""
    select: Callable[[EntryStream], Session]
    """Selects the entry that becomes the record."""
    compose: Callable[..., StageResult]
    """Turns the session's snapshot into a conversation."""
    logged_stages: tuple[ConversationStage, ...]
    """Stages that correct and complete the logged conversation."""
    checks: tuple[Check, ...]
    """The checks of the logged conversation."""
    measure: Callable[[View, dict[int, int]], Usage]
    refuse: Callable[[View], Violation | None]
    """Returns why the preset cannot represent the logged conversation."""
    record_stages: tuple[ConversationStage, ...]
    """Stages that turn the conversation into the content of the record."""
    encode: Callable[[Conversation], RecordLine]
    is_shaped: bool = False
    """Whether records have the layout of a training preset."""

    def clean_entries(self, items: EntryStream) -> EntryStream:
        """Run the entry stages over a stream of entries."""
        for stage in self.entry_stages:
            items = stage(items)
        return items

    def make_record(
        self,
        snapshot: Snapshot,
        *,
        has_private: bool,
        source: str | None,
        version: str | None = None,
        marks: list[Mark] | None = None,
    ) -> tuple[Record | Rejection, list[Violation]]:
        """Convert a snapshot; return its record, or the reason for rejecting it, and all findings.

        ``marks`` are the marks of the assistant messages. The record contains them with their final positions.
        """
        conversation, composed = self.compose(snapshot, has_private=has_private, source=source, version=version)
        shared_calls: dict[int, int] = {}
        if snapshot.shared_calls:
            shared_calls = {id(conversation.messages[at]): number for at, number in snapshot.shared_calls.items()}
        if marks is not None:
            conversation = replace(conversation, marks=marks)
        logged_messages = conversation.messages
        conversation, findings = run_stages(self.logged_stages, conversation)
        findings = [*composed, *findings]
        if why := self._check_reply(logged_messages, snapshot, has_private=conversation.has_private):
            return Rejection(why), [why]
        view = View(conversation, redefined=snapshot.redefined)
        for check in self.checks:
            findings += check(conversation, view)
        usage = self.measure(view, shared_calls)
        # The ending and the checks look at the logged conversation: later stages may remove the content they look for.
        entry = snapshot.entry
        session_ending = detect_ending(view, entry.reply, entry.origin, source, entry.scores)
        why = self.refuse(view)
        if why:
            findings = [*(each for each in findings if each != why), why]
        if snapshot.entry.origin:
            findings = with_logged_positions(findings, logged_messages, conversation.messages)
        if why:
            return Rejection(why), findings
        result, more = self._encode(conversation, usage, session_ending)
        return result, [*findings, *more]

    def _encode(
        self, conversation: Conversation, usage: Usage, session_ending: Ending
    ) -> tuple[Record | Rejection, list[Violation]]:
        """Run the record stages over a logged conversation and encode the result."""
        without_tools = format_without_tools(conversation) if self.checks else ""
        conversation, findings = run_stages(self.record_stages, conversation)
        line = self.encode(conversation)
        findings += line.findings
        if line.data is None:
            assert line.refusal
            return Rejection(line.refusal), findings
        if line.value is not None:
            record_measures.remember(line.data, line.value)
        result = Record(
            line.data,
            usage,
            line.images,
            without_tools,
            unflagged=line.unflagged,
            marks=line.marks,
            ending=session_ending,
            digest=xxh3_128_digest(line.data),
        )
        return result, findings

    def _check_reply(self, messages: list[Message], snapshot: Snapshot, *, has_private: bool) -> Violation | None:
        """Return why a session without a reply has no record; the default format accepts plain requests."""
        if messages and messages[-1]["role"] == "assistant":  # nearly always
            return None
        if any(message["role"] == "assistant" for message in messages):
            return None
        is_specified = not (self.is_shaped or snapshot.entry.origin)
        if is_specified and (messages or not has_private):
            return None
        return reading.unanswered_session(snapshot.entry.reply.problem or "")


def needs_conversations(options: Options) -> bool:
    """Return whether the options need the conversations of a session for more than the coverage of its record."""
    needs = options.lists_replies or options.needs_steps or options.divides or options.cuts
    needs = needs or options.pairs != "none" or options.keep != "none"
    return needs or options.restore != "none" or options.loss != "none"


def _trees_after(options: Options) -> TreesAfter:
    """Return when to begin to build the trees of a session."""
    if not needs_conversations(options):
        return "growth"
    needs = options.needs_steps or options.cuts or options.samples != "session" or options.loss_labels is not None
    needs = needs or options.pairs != "none" or options.keep != "none" or options.split is not None
    needs = needs or options.restore in ("results", "all")
    # The only conversation of a session that just grew can be written without trees.
    return "exact-growth" if options.divides and not needs else "start"


def with_logged_positions(
    findings: list[Violation], logged_messages: list[Message], messages: list[Message]
) -> list[Violation]:
    """Add the logged position of its message to each finding if messages were added or dropped since."""
    if len(logged_messages) == len(messages) and all(map(is_, logged_messages, messages)):
        return findings
    places = {id(message): at for at, message in enumerate(logged_messages)}
    return [
        each if each.at is None else replace(each, log_index=places.get(id(messages[each.at]), each.log_index))
        for each in findings
    ]


def run_stages(stages: Iterable[ConversationStage], conversation: Conversation) -> tuple[Conversation, list[Violation]]:
    """Run conversation stages in order and collect their findings."""
    findings: list[Violation] = []
    for stage in stages:
        conversation, more = stage(conversation)
        findings += more
    return conversation, findings


def plan(options: Options, anonymizer: Anonymizer | None) -> Plan:
    """Build the plan for some options."""
    is_shaped = options.preset != presets.DEFAULT
    joins = _joined_messages(options)
    checks = partial(
        check_conversation, keeps_reasoning=options.reasoning == "keep", checks_arguments=options.check_arguments
    )
    return Plan(
        entry_stages=(
            *([partial(clean, sets=options.cleanups)] if options.cleanups else []),
            partial(
                validate,
                keep=options.on_invalid == "keep",
                merge=options.merges,
                is_joined=options.sessions_by == "chain",
            ),
        ),
        select=partial(
            select,
            trace_roles=options.integrity_analysis,
            last_tools=options.tools == "last",
            trace_calls=options.check_arguments,
            begin=partial(
                begin_tally,
                looks_closely=options.restore in ("results", "all"),
                trees_after=_trees_after(options),
                lists_entries=options.divides,
                keeps_logprobs=options.keep == "logprobs",
                keeps_token_ids=options.samples == "tokens"
                or (options.keep == "logprobs" and options.samples != "session"),
            ),
        ),
        compose=compose,
        logged_stages=(
            partial(drop_repeated_results, loaded_only=not is_shaped and options.writes_last),
            partial(drop_unsupported, joins=joins, keeps_media=is_shaped and options.media != "drop"),
            *_supply_stages(options),
        ),
        checks=(checks,) if options.integrity_analysis else (),
        measure=record_measures.measure,
        refuse=_refuse_violation if is_shaped else _refuse_nothing,
        record_stages=(*_chat_stages(options, joins), *_optional_stages(options, anonymizer)),
        encode=_encoder(options),
        is_shaped=is_shaped,
    )


def _supply_stages(options: Options) -> Iterator[ConversationStage]:
    """Yield the stage that supplies missing definitions and system prompts."""
    if options.tools_file is None and options.system_file is None:
        return
    from chatsquash.session.stages import supplied_definitions

    yield partial(supplied_definitions.supply, supplied=supplied_definitions.tables(options))


def _refuse_nothing(view: View) -> None:
    """Accept any conversation, as the default format does."""
    del view


def _refuse_violation(view: View) -> Violation | None:
    """Return why a preset excludes a conversation; see ``contents.first_violation``."""
    from chatsquash.checks.contents import first_violation  # imported here because the default format excludes none

    return first_violation(view)


def _encoder(options: Options) -> Callable[[Conversation], RecordLine]:
    phrases = Phrases(options.flag_phrase) if options.integrity_analysis else None
    flag = None if options.flag == "none" or options.samples != "session" else options.flag
    if options.preset == presets.DEFAULT:
        return partial(record.encode_record, phrases=phrases, in_folder=options.folder, flag=flag)
    preset, choices = presets.get_preset(options.preset), presets.choices(options)
    return partial(record.shape_record, preset=preset, choices=choices, phrases=phrases, flag=flag)


def _joined_messages(options: Options) -> MessageFilter | None:
    """Return a filter for messages whose texts are joined: all for presets, otherwise only those with inlined calls."""
    if options.preset != presets.DEFAULT:
        return lambda message: True  # noqa: ARG005
    if not options.json_tool_calls:
        return None
    from chatsquash.session.stages.reasoning import is_inlined

    return is_inlined


def _chat_stages(options: Options, joins: MessageFilter | None) -> Iterator[ConversationStage]:
    """Yield the stages that turn loaded messages into plain chat messages."""
    if options.preset != presets.DEFAULT:
        yield add_media
    if options.mark_failed_results:
        yield mark_failed_results
    if joins:
        from chatsquash.session.stages.public import join_texts

        yield partial(join_texts, joins=joins, loaded_only=options.reasoning == "keep")
    yield remove_private


def _optional_stages(options: Options, anonymizer: Anonymizer | None) -> Iterator[ConversationStage]:
    """Yield the stages that the options request, in order."""
    # The stages are imported here because few runs need them.
    if options.tools == "used":
        from chatsquash.session.stages.tools import used_tools

        yield used_tools
    if options.enums == "text":
        from chatsquash.session.stages.tools import enums_as_texts

        yield enums_as_texts
    if options.reasoning != "keep" or options.preset != presets.DEFAULT:
        from chatsquash.session.stages.reasoning import place_reasoning

        yield partial(place_reasoning, mode=options.reasoning)
    if options.system == "drop":
        from chatsquash.session.stages.templates import drop_system

        yield drop_system
    if anonymizer:
        yield partial(_anonymize, anonymizer, Last(partial(_without_addresses, anonymizer)))
    yield from _layout_stages(options)
    if options.json_tool_calls:
        yield partial(_inline, check=options.integrity_analysis)


def _layout_stages(options: Options) -> Iterator[ConversationStage]:
    """Yield the optional stages that join, split and trim messages."""
    if options.bridge_results == "join" and options.preset == presets.DEFAULT:
        from chatsquash.session.stages.templates import bridge_results  # presets do this after placing results

        yield bridge_results
    if options.merge_consecutive:
        from chatsquash.session.stages.templates import merge_consecutive

        yield merge_consecutive
    if options.drop_text_beside_calls:
        from chatsquash.session.stages.templates import drop_text_with_calls

        yield drop_text_with_calls
    if options.split_parallel:
        from chatsquash.session.stages.templates import split_parallel

        yield split_parallel
    if options.split_text_and_calls:
        from chatsquash.session.stages.templates import split_text_and_calls

        yield split_text_and_calls
    if options.tool_ids == "short9":
        from chatsquash.session.stages.templates import shorten_ids

        yield shorten_ids


def _inline(conversation: Conversation, *, check: bool) -> StageResult:
    from chatsquash.session.stages.reasoning import inline_calls

    inline_conversation, findings = inline_calls(conversation)
    return inline_conversation, [
        *findings,
        *(examine(View(inline_conversation, conversation.messages), "inlined") if check else ()),
    ]


def _anonymize(
    anonymizer: Anonymizer,
    replace_in_tools: Callable[[list[Tool]], tuple[list[Tool], int]],
    conversation: Conversation,
) -> StageResult:
    tools = conversation.tools
    if analyse_definitions(tools).may_have_address:  # most definitions need no search
        tools, count = replace_in_tools(tools)
        anonymizer.count += count
    messages, encoded_messages = anonymizer.messages(conversation.messages)
    return Conversation(messages, tools, encoded_messages=encoded_messages, marks=conversation.marks), ()


def _without_addresses(anonymizer: Anonymizer, tools: list[Tool]) -> tuple[list[Tool], int]:
    """Replace addresses in tool definitions and count them."""
    pairs = zip(tools, analyse_definitions(tools).definitions, strict=True)
    results = [anonymizer.anonymize(tool) if definition.may_have_address else (tool, 0) for tool, definition in pairs]
    return [tool for tool, _ in results], sum(count for _, count in results)
