"""``translate --to atif`` writes sub-agents into the trajectory that started them, and nothing of them is lost."""

import json
from pathlib import Path

from chatsquash.core.errors import ChatsquashError
from chatsquash.formats.exports import atif
from chatsquash.translate import conversations, files
from chatsquash.translate.files import Translation
from chatsquash.translate.losses import differences
from chatsquash.translate.reading import Reader
from chatsquash.translate.sources import Sources
from chatsquash.trees.documents import paths
from tests.conftest import cases
from tests.formats.test_atif import problems

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = (
    "atif/a_subagent_and_what_goes_on/logs/s.jsonl",
    "claude_code/a_sub_agent_and_the_call_that_began_it/logs/s.jsonl",
    "claude_code/all_conversations_of_a_session/logs/s1.jsonl",
    "claude_code/the_last_conversation_of_a_session/logs/s1.jsonl",
    "copilot_cli/a_sub_agent_and_a_compaction/logs/events.jsonl",
    "crush/calls_sub_agents_and_their_session/logs/crush.db",
    "hermes/a_compression_that_began_another_session/logs/state.db",
    "inspect_ai/a_sub_agent_that_only_events_tell/logs/count.json",
    "opencode/sub_agents_in_a_database/logs/opencode.db",
)
"""The golden logs with sub-agents."""


def loaded(path):
    """The conversations of a file in families; none if it cannot be read alone."""
    try:
        pieces = Sources(None, None).pieces([str(path)], None)
        return [source for piece in pieces for source in Reader(with_families=True).read(piece)]
    except ChatsquashError:
        return []


def links(found):
    """The index of the parent of each sub-agent, and the call that started it."""
    origins = {id(each): at for at, each in enumerate(found)}
    return [
        (origins[id(each.parent.conversation)], started(each)) if each.kind == "subagent" and each.parent else None
        for each in paths(found)
    ]


def started(path):
    """The call that started a sub-agent, as either of the two conversations names it."""
    call_id = path.root_origin.call or path.parent.origin.began.get(path.origin.id)
    return call_id if call_id in {call["id"] for call in calls(path.parent.conversation)} else None


def calls(conversation):
    return [call for message in conversation.messages for call in message.get("tool_calls") or ()]


def translated(path, folder):
    output = folder / "out.jsonl"
    files.write_all([str(path)], Translation(to="atif", output=str(output)), None, None)
    return list(map(json.loads, output.read_bytes().splitlines()))


def test_these_are_all_golden_logs_with_subagents():
    files_of_logs = (each for each in sorted(GOLDEN.rglob("logs/**/*")) if each.is_file())
    found = [each for each in files_of_logs if any(source.depth for source in loaded(each))]
    assert [each.relative_to(GOLDEN).as_posix() for each in found] == list(NAMES)


@cases("name", *NAMES)
def test_subagents_come_back_with_their_parents_and_calls(name, tmp_path):
    path = GOLDEN / name
    source = [each.conversation for each in loaded(path)]
    written = translated(path, tmp_path)
    assert [problem for document in written for problem in problems(document)] == []
    again = [conversation for document in written for conversation in atif.conversations([document])]
    assert any(links(source))
    for one, other in zip(source, again, strict=True):
        assert differences(one, other) == conversations.losses(one, "atif")
    families = [each for document in written for each in links(atif.conversations([document]))]
    assert families == [each for group in grouped(loaded(path)) for each in links(group)]


def grouped(sources):
    groups = []
    for source in sources:
        groups += [] if source.depth else [[]]
        groups[-1].append(source.conversation)
    return groups
