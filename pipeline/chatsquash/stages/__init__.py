"""What happens to one session, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from chatsquash.checks import examine
from chatsquash.checks.registry import View
from chatsquash.ledger import Ledger
from chatsquash.memo import Last
from chatsquash.model import Conversation, Entry, Tool
from chatsquash.options import Options
from chatsquash.redact.pseudonyms import Anonymizer
from chatsquash.stages.cleaning import clean
from chatsquash.stages.definitions import known
from chatsquash.stages.validate import validate

EntryStage = Callable[[Iterator[Entry], Ledger], Iterator[Entry]]
ConversationStage = Callable[[Conversation, Ledger, int], Conversation]
"""The third argument is the line of the entry that the conversation came from."""


class Plan(NamedTuple):
    """The stages in order: over the stream of entries, then, once one is selected, over the conversation."""

    entries: tuple[EntryStage, ...]
    conversation: tuple[ConversationStage, ...]
    """These come after the checks of what was logged."""

    def through(self, stream: Iterator[Entry], ledger: Ledger) -> Iterator[Entry]:
        """The entries that the entry stages leave of a stream."""
        for stage in self.entries:
            stream = stage(stream, ledger)
        return stream


def plan(options: Options, anonymizer: Anonymizer | None) -> Plan:
    """The stages that the options ask for."""
    return Plan(
        entries=(
            *([clean] if options.cleanup_goose else []),
            partial(validate, keep=options.on_invalid == "keep", merge=options.merges),
        ),
        conversation=tuple(_of_conversations(options, anonymizer)),
    )


def _of_conversations(options: Options, anonymizer: Anonymizer | None) -> Iterator[ConversationStage]:
    """The stages over a conversation in order; those that few runs ask for are imported here."""
    if options.reasoning != "keep":
        from chatsquash.stages.reasoning import reason

        yield partial(reason, mode=options.reasoning)
    if options.system == "drop":
        from chatsquash.stages.drop_system import drop_system

        yield drop_system
    if anonymizer:
        yield partial(_anonymize, anonymizer, Last(partial(_without_addresses, anonymizer)))
    if options.merge_consecutive:
        from chatsquash.stages.merge_consecutive import merge_consecutive

        yield merge_consecutive
    if options.split_parallel:
        from chatsquash.stages.split_parallel import split_parallel

        yield split_parallel
    if options.split_text_and_calls:
        from chatsquash.stages.split_text_and_calls import split_text_and_calls

        yield split_text_and_calls
    if options.tool_ids == "short9":
        from chatsquash.stages.tool_ids import shorten

        yield shorten
    if options.json_tool_calls:
        yield partial(_inline, check=options.integrity_analysis)


def _inline(conversation: Conversation, ledger: Ledger, line: int, *, check: bool) -> Conversation:
    from chatsquash.stages.inline import inline

    inlined = inline(conversation, ledger, line)
    if check:
        for found in examine(View(inlined, conversation.messages), "inlined"):
            ledger.note(found, line)
    return inlined


def _anonymize(
    anonymizer: Anonymizer,
    counted: Callable[[list[Tool]], tuple[list[Tool], int]],
    conversation: Conversation,
    ledger: Ledger,
    line: int,
) -> Conversation:
    del ledger, line
    tools, replaced = counted(conversation.tools)
    anonymizer.count += replaced
    messages, written = anonymizer.messages(conversation.messages)
    return Conversation(messages, tools, written=written)


def _without_addresses(anonymizer: Anonymizer, tools: list[Tool]) -> tuple[list[Tool], int]:
    """Tool definitions without addresses, and how many were replaced."""
    definitions = known(tools)
    if not any(definition.may_have_address for definition in definitions):
        return tools, 0
    both = zip(tools, definitions, strict=True)
    replaced = [anonymizer.counted(tool) if definition.may_have_address else (tool, 0) for tool, definition in both]
    return [tool for tool, _ in replaced], sum(count for _, count in replaced)
