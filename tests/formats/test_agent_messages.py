"""What agents' files are read as at once is what the requests of their providers are read as, turn by turn."""

from random import Random

from chatsquash.formats import bodies, documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, LoggedTurn, load_turns
from chatsquash.formats.providers import anthropic, openai_responses
from tests.conftest import cases

TEXT = {"type": "text", "text": "so"}
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
BLOCKS = [
    *(TEXT, CALL, THOUGHT, RESULT),
    {**TEXT, "citations": [1]},
    {**CALL, "id": ""},
    {**CALL, "id": "t2", "caller": {"type": "direct"}},
    {**CALL, "id": "t2", "input": {"INVALID_JSON": "{"}},
    {**THOUGHT, "signature": ""},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "text", "text": ""},
    {**THOUGHT, "thinking": ""},
    {"type": "thinking", "thinking": "Hm."},
    {**RESULT, "is_error": True},
    {**RESULT, "is_error": False},
    {**RESULT, "is_error": False, "content": [TEXT]},
    {**RESULT, "content": ""},
    {**RESULT, "is_error": "no"},
    {**RESULT, "content": [TEXT]},
    {**RESULT, "content": [TEXT, TEXT]},
    {**RESULT, "content": None},
    {"type": "tool_result", "content": "whose?"},
    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
]
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}
ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and?"}]}
CALLED = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"}
ANSWER = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
REASONED = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]}
ITEMS = [
    *(SAID, ASKED, CALLED, ANSWER, REASONED),
    {**SAID, "phase": "final_answer"},
    {**SAID, "content": [*SAID["content"], {"type": "refusal", "refusal": "no"}]},
    {**SAID, "content": [{**SAID["content"][0], "annotations": [1]}]},
    {**SAID, "content": "so", "function_call": {"name": "x"}},
    {**ASKED, "role": "developer"},
    {**ASKED, "role": "nobody"},
    {**CALLED, "call_id": "c2", "namespace": "n"},
    {"type": "function_call", "name": "shell", "arguments": {"a": 1}},
    {**ANSWER, "name": "shell"},
    {**ANSWER, "output": [{"type": "input_text", "text": "ok"}]},
    {"type": "function_call_output", "output": "whose?"},
    {**REASONED, "encrypted_content": "x"},
    {**REASONED, "content": [{"type": "reasoning_text", "text": "Hm."}]},
    {**REASONED, "summary": [*REASONED["summary"], *REASONED["summary"]]},
    {"type": "web_search_call", "id": "w", "status": "completed"},
]


def claude_code(turns):
    """The lines of a file of Claude Code, which hold these turns."""
    head = {"sessionId": "s", "timestamp": "2026-01-01T12:00:00Z"}
    keys = [f"u{number}" for number in range(len(turns))]
    return [
        {**head, "uuid": key, "parentUuid": before, "type": turn["role"], "message": turn}
        for key, before, turn in zip(keys, [None, *keys], turns, strict=False)
    ]


def codex(turns):
    """The lines of a rollout, which hold these items."""
    return [{"timestamp": "2026-01-01T12:00:00Z", "type": "response_item", "payload": turn} for turn in turns]


def turn(rng):
    content = rng.choices(BLOCKS, k=rng.randint(1, 3))
    return {"role": rng.choice(["user", "assistant"]), "content": rng.choice([content, content, content, "so", []])}


def read(work):
    try:
        return work()
    except TurnError as problem:
        return str(problem)


def test_messages_that_follow_from_a_turn_alone_are_those_of_a_request_with_it():
    """They are read at once where nothing is unusual, and then in any order."""
    for seed in range(1500):
        rng = Random(seed)
        made = [turn(rng) for _ in range(rng.randint(1, 7))]
        logged = [LoggedTurn(f"entry {place}", each, Evidence(place)) for place, each in enumerate(made, 1)]
        placed = [(each.place, each.turn) for each in logged]
        wanted = read(lambda placed=placed: bodies.messages_with_places(anthropic, placed))
        found = read(lambda logged=logged: load_turns(anthropic, logged))
        if isinstance(wanted, str):
            assert found == wanted, made
        else:
            assert found.messages == [message for message, _ in wanted], made
            assert [each.line for each in found.evidence] == [at.start + 1 for _, at in wanted], made


@cases(
    "name, lines, form, made",
    ("claude_code", claude_code, anthropic, turn),
    ("codex", codex, openai_responses, lambda rng: rng.choice(ITEMS)),
)
def test_messages_of_an_agents_turns_are_those_of_a_request_with_them(name, lines, form, made):
    for seed in range(1500):
        rng = Random(seed)
        turns = [made(rng) for _ in range(rng.randint(1, 7))]
        placed = [(f"entry {place}", each) for place, each in enumerate(turns, 1)]
        wanted = read(lambda placed=placed: [message for message, _ in bodies.messages_with_places(form, placed)])
        found = read(lambda turns=turns: documents.load(name, lines(turns))[0].messages)
        assert found == wanted, turns
