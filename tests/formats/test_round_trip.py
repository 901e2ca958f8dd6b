"""No format loses what it can hold; the table of all of them is in docs/formats.md."""

import json
from collections import Counter
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from chatsquash.core.blocks import FORM, PROMPTS, Call, Result
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.errors import UsageError
from chatsquash.formats.calls import parse_json
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import conversations
from tests.conftest import cases
from tests.formats.kinds import KINDS, ODD
from tests.formats.odd import CONVERSATIONS
from tests.formats.round_trip import AT_LEAST, FORMATS, MARKS, cell, declared, is_worse


def test_the_kinds_are_those_of_the_table():
    assert list(KINDS) == list(AT_LEAST)
    assert len(KINDS) == 58


@pytest.mark.parametrize("name", conversations.writable_formats())
def test_a_format_loses_what_it_declares(name):
    assert {kind: cell(kind, name) for kind in KINDS} == {kind: declared(kind, name) for kind in KINDS}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", AT_LEAST)
def test_no_cell_is_worse_than_it_can_be(kind, name):
    assert not is_worse(cell(kind, name), AT_LEAST[kind][FORMATS.index(name)])


@cases("kind, name", ("is_error", "openai_chat"), ("is_error", "portable"), ("instructions", "oumi"))
def test_a_cell_that_rests_on_a_mark_of_ours_does_not_say_that_all_is_held(kind, name):
    lost = conversations.losses(KINDS[kind], name)
    assert (lost, cell(kind, name)) == ([], MARKS)
    assert lost.kept_for_chatsquash


# Tool turns through the portable form


def exchanges(conversation):
    """Every call with its result: the name, the arguments as a value, the text; in the order of the calls."""
    blocks = [block for turn in turns_of(conversation) for block in turn.blocks]
    results = {block.id: "".join(each.text for each in block.content) for block in blocks if isinstance(block, Result)}
    calls = [block for block in blocks if isinstance(block, Call)]
    return [(call.name, json.loads(call.arguments), results.get(call.id)) for call in calls]


IDS = {"id", "tool_call_id", "call_id", "tool_use_id", "toolCallId", "source_call_id"}


def without_ids(document, *instead):
    """A document as many are logged, whose calls and results have no ids, or ``instead`` of them."""
    if isinstance(document, list):
        return [without_ids(each, *instead) for each in document]
    if not isinstance(document, dict):
        return document
    kept = {key: without_ids(value, *instead) for key, value in document.items() if key not in IDS}
    return kept | {key: value for key in IDS & document.keys() for value in instead}


WITH_CALLS = [name for name in conversations.writable_formats() if name != "oumi_history"]
LINKED = ("tool call", "text+call", "parallel calls", "sequential calls", "same tool twice", "no-arg call")


@pytest.mark.parametrize("kind", LINKED)
@pytest.mark.parametrize("to", [name for name in WITH_CALLS if name != "portable"])
def test_tool_turns_and_links_survive_the_portable_form(kind, to):
    expected = exchanges(KINDS[kind])
    assert all(result is not None for _, _, result in expected)
    for source in WITH_CALLS:
        document = conversations.dump(KINDS[kind], source)
        for logged in [document, without_ids(document), without_ids(document, None), without_ids(document, "")]:
            portable = conversations.dump(conversations.load(logged, source), "portable")
            there = conversations.dump(conversations.load(portable, "portable"), to)
            assert exchanges(conversations.load(there, to)) == expected, source


# Losses


@given(ODD | CONVERSATIONS, st.sampled_from(conversations.writable_formats()))
def test_losses_are_the_paths_that_differ(conversation, name):
    """Without what is declared both sides say the same, and without any one of what is gone or changed they do not."""
    try:
        document = conversations.dump(conversation, name)
    except UsageError:
        return  # no document of the format can stand for it
    loaded = conversations.load(document, name)
    declared = conversations.losses_in(conversation, document, name)
    before, after = Side(conversation), Side(loaded)
    assert same(before, after, declared), "something differs that is not declared"
    for path in sorted(path for path in set(declared) if "[+" not in path):
        rest = list(declared)
        rest.remove(path)
        assert not same(before, after, rest), f"{path} is declared, and the same"


class Side:
    """A conversation as JSON, and what tells the names of its results."""

    def __init__(self, conversation):
        self.turns = json.loads(json.dumps([to_builtins(turn) for turn in turns_of(conversation)]))
        self.tools = [shown(tool) for tool in conversation.tools]
        self.native = conversation.native
        self.branch = conversation.branch
        calls = [block for turn in turns_of(conversation) for block in turn.blocks if isinstance(block, Call)]
        self.names = {call.id: call.name or "" for call in calls}
        self.leading = len(list(takewhile(lambda turn: turn.role in PROMPTS, turns_of(conversation))))

    def name(self, result):
        return result.get("name") or self.names.get(result["id"], "")


def shown(tool):
    """A definition with what is private in it under the name that paths have."""
    if not isinstance(tool, dict) or not isinstance(tool.get(PRIVATE), Private):
        return tool
    return {**{key: value for key, value in tool.items() if key != PRIVATE}, "native": dict(tool[PRIVATE])}


def same(before, after, declared):
    """Whether two conversations say the same but for these paths."""
    declared = Counter(declared)
    return (
        (before.branch == after.branch or "branch" in declared)
        and natives("native", before.native, after.native, declared)
        and of_turns(before, after, declared)
        and all(
            is_json(f"tools[{at}]", *pair, declared)
            for at, pair in enumerate(padded(before.tools, after.tools))
        )
    )  # fmt: skip


def padded(left, right):
    most = max(len(left), len(right))
    return zip([*left, *[None] * (most - len(left))], [*right, *[None] * (most - len(right))], strict=True)


def of_turns(before, after, declared):
    leading = list(range(before.leading))
    choices = [leading]
    for at in range(before.leading, len(before.turns) if leading else 0):  # others lead, too, behind what is gone
        if before.turns[at]["role"] in PROMPTS:
            choices.append([*choices[-1], at])
        elif f"turns[{at}]" not in declared:
            break
    return any(of_turns_behind(led, before, after, declared) for led in choices)


def of_turns_behind(led, before, after, declared):
    first = after_first = 0
    if 0 < after.leading < len(led):
        first, after_first = led[-1] + 1, after.leading
        if not prompts(led, before, after, declared):
            return False
    paths = [f"turns[{at}]" for at in range(first, len(before.turns))]
    pairs = list(zip(paths, before.turns[first:], strict=True))

    def is_turn(path, left, right):
        blocks = left.get("blocks", [])
        inner = [(f"{path}.blocks[{at}]", block) for at, block in enumerate(blocks)]
        return (
            (left["role"] == right["role"] or f"{path}.role" in declared)
            and (
                left.get("instructions", False) <= right.get("instructions", False)
                or f"{path}.instructions" in declared
            )
            and natives(f"{path}.native", left.get("native", {}), right.get("native", {}), declared)
            and of_blocks(f"{path}.blocks", inner, right.get("blocks", []), (before, after), declared)
        )

    return matches("turns", pairs, after.turns[after_first:], is_turn, declared, first)


def prompts(led, before, after, declared):
    """Whether leading system prompts say the same, of which there are more or fewer."""
    roles = {turn["role"] for turn in after.turns[: after.leading]}
    left, right = [(at, before.turns[at]) for at in led], after.turns[: after.leading]
    for number, (at, turn) in enumerate(left):
        path, beside = f"turns[{at}]", right[min(number, len(right) - 1)].get("native", {})
        given = turn.get("instructions", False) <= any(each.get("instructions") for each in right)
        if not given and f"{path}.instructions" not in declared:
            return False
        if turn["role"] not in roles and f"{path}.role" not in declared:
            return False
        if not natives(f"{path}.native", turn.get("native", {}), beside, declared):
            return False
    inner = [
        (f"turns[{at}].blocks[{place}]", block)
        for at, turn in left
        for place, block in enumerate(turn.get("blocks", []))
    ]
    prefix = inner[0][0].rpartition("[")[0] if inner else "blocks"
    found = [block for turn in right for block in turn.get("blocks", [])]
    return of_blocks(prefix, inner, found, (before, after), declared)


def of_blocks(prefix, before, after, sides, declared):
    return matches(prefix, before, after, lambda *pair: is_block(*pair, sides, declared), declared, 0)


def matches(prefix, before, after, is_same, declared, first):
    """Whether all of a list became all of another, in order, but for what is declared as gone, new or another."""

    def found(at, right, left_over):
        """Whether what is left of both fits."""
        right += declared[f"{prefix}[+{first + at}]"]
        if at == len(before):
            return right == len(left_over)
        if right > len(left_over):
            return False
        path, left = before[at]
        if f"{path}.place" in declared:
            return found(at + 1, right, left_over)
        if path in declared and found(at + 1, right, left_over):
            return True
        became = path in declared or (right < len(left_over) and is_same(path, left, left_over[right]))
        return right < len(left_over) and became and found(at + 1, right + 1, left_over)

    def elsewhere(moved, left_over):
        """Whether all fits beside those that stand elsewhere."""
        if not moved:
            return found(0, 0, left_over)
        path, left = moved[0]
        places = [at for at, each in enumerate(left_over) if is_same(path, left, each)]
        return any(elsewhere(moved[1:], [*left_over[:at], *left_over[at + 1 :]]) for at in places)

    return elsewhere([(path, left) for path, left in before if f"{path}.place" in declared], after)


def is_block(path, left, right, sides, declared):
    """Whether a block became another of its kind, with the same in each field but those that are declared."""
    if left["type"] != right["type"]:
        return False
    fields = (left.keys() | right.keys()) - {"native", "made_up", "content", "type"}
    content = [(f"{path}.content[{at}]", block) for at, block in enumerate(left.get("content", []))]
    return (
        all(f"{path}.{field}" in declared or is_field(field, left, right, sides) for field in fields)
        and natives(f"{path}.native", left.get("native", {}), right.get("native", {}), declared)
        and of_blocks(f"{path}.content", content, right.get("content", []), sides, declared)
    )


def is_field(field, left, right, sides):
    """Whether a field says the same; what was not known may be known now."""
    old, new = left.get(field), right.get(field)
    if field == "id" and left.get("made_up"):
        return True
    if field == "name" and left["type"] == "result":
        return sides[0].name(left) == sides[1].name(right)
    if field == "arguments" and not left.get("custom"):
        old, new = (
            parse_json(text) if parse_json(text) is not None else text
            for text in (left.get(field, "{}"), right.get(field, "{}"))
        )
    if field in ("name", "mime", "apart") and not old:
        return True
    return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)


def natives(path, before, after, declared):
    """Whether what only a provider knows came back; it may say more."""
    return all(
        members(f"{path}.{provider}", held, after.get(provider, {}), declared)
        for provider, held in before.items()
        if provider != FORM
    )


def members(path, before, after, declared):
    def is_kept(name, value):
        other = after.get(name)
        if f"{path}.{name}" in declared:
            return True
        if isinstance(value, dict) and (value or isinstance(other, dict)):
            return members(f"{path}.{name}", value, other if isinstance(other, dict) else {}, declared)
        return name in after and json.dumps(other, sort_keys=True) == json.dumps(value, sort_keys=True)

    return all(is_kept(name, value) for name, value in before.items())


def is_json(path, before, after, declared):
    """Whether two values are the same; null is as good as nothing, and 1 is not true."""
    if path in declared:
        return True
    if isinstance(before, dict) and isinstance(after, dict):
        native = natives(f"{path}.native", before.get("native", {}), after.get("native", {}), declared)
        keys = (before.keys() | after.keys()) - {"native"}
        return native and all(is_json(f"{path}.{key}", before.get(key), after.get(key), declared) for key in keys)
    if isinstance(before, list) and isinstance(after, list):
        pairs = enumerate(padded(before, after))
        return all(is_json(f"{path}[{at}]", *pair, declared) for at, pair in pairs)
    return json.dumps(before) == json.dumps(after)
