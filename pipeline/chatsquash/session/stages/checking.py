"""What is wrong with a conversation as it was logged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from chatsquash.checks import examine, reading
from chatsquash.checks.dataset import OF_TOOLS
from chatsquash.checks.registry import Kind, View
from chatsquash.core.model import Conversation, Found
from chatsquash.core.reasoning import MEMBERS
from chatsquash.formats import PLAIN, documents
from chatsquash.formats.providers.openai_chat.vendors import TELLING, variants
from chatsquash.session import definitions

_TEXT = frozenset({str, type(None)})


def examined(
    conversation: Conversation, view: View, *, keeps_reasoning: bool, holds_arguments: bool = False
) -> Iterator[Found]:
    """What the rules over records find in one whose calls are native, in its definitions, and in its arguments."""
    explained = OF_TOOLS if without_tools(conversation) else ()
    kinds: tuple[Kind, ...] = ("record", "native", "arguments") if holds_arguments else ("record", "native")
    for found in (*definitions.check(view.tools), *examine(view, *kinds)):
        if found.code not in explained:
            yield found
    if conversation.source == PLAIN and not _is_ordinary(view):
        gone = () if keeps_reasoning else MEMBERS
        forms = [form for form in chain.from_iterable(map(variants, view.messages)) if form not in gone]
        if forms:
            yield reading.vendor_form(Counter(forms))


def _is_ordinary(view: View) -> bool:
    """Whether a look at all messages at once shows that none departs from what OpenAI writes, as nearly none does."""
    columns = view.columns
    calls, ids = columns.calls, columns.result_ids
    return (
        calls is not None
        and [call.get("type") for call in calls.given].count("function") == len(calls.given)
        and TELLING.isdisjoint(columns.keys)
        and "function" not in columns.roles
        and _TEXT.issuperset(columns.kinds)
        and _TEXT.issuperset(map(type, ids))
        and None not in ids
        and "" not in ids
    )


def without_tools(conversation: Conversation) -> str:
    """The format of the log that a conversation is of, where that explains that it has no tools."""
    name = conversation.source if conversation.loaded and not conversation.tools else None
    return name if name and not documents.holds_tools(name) else ""
