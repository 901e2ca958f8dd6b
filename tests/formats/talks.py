"""Conversations of turns with every kind of block, in every order that makes sense.

``TALKS`` draws them.  Most of what is drawn is picked from the lists here, simplest first, so that a talk is drawn fast
and shrinks to what matters.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from chatsquash.core.blocks import (
    Approval,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Other,
    Outcome,
    Reasoning,
    Refusal,
    Result,
    Source,
    Text,
    Turn,
)
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation
from chatsquash.formats import view
from tests.formats.kinds import PDF, PNG, SIGNATURE, WAV

pick = st.sampled_from

# Texts


WORDS = [
    "Hello.", "How is the weather in Zürich? 日本 👋🏽", " a space before", "behind \n", "\n\nlines around\n\n",
    'She said "no\\yes".', "ERROR: no such file", "<system>Be kind.</system>", "<think>Hm.</think>Well.",
    '{"sky": "clear"}', "[1, 2]", "null", "two\r\nlines\tand a tab", "e\u0301 \u2028 \u200b", " ",
]  # fmt: skip
TEXTS = pick(
    [
        *map(Text, WORDS),
        Text("Cached.", native={"anthropic": {"cache_control": {"type": "ephemeral"}}}),
        Text("Signed.", native={"google": {"thoughtSignature": SIGNATURE}}),
        Text("Last.", native={"openai": {"phase": "final_answer", "id": "msg_1"}}),
        Text("By name.", native={"pydantic_ai": {"id": "t1"}, "vercel_ai": {"state": "streaming"}}),
    ]
)

# Media


IMAGES = [
    Media("image", "image/png", PNG),
    Media("image", url="https://example.com/cat.png"),
    Media("image", "image/webp", url="https://example.com/cat"),
    Media("image", file_id="file-abc", provider="openai"),
    Media("image", "image/png", PNG, name="cat.png"),
    Media("image", "image/png", PNG, native={"openai": {"detail": "high"}}),
    Media("image", "image/tiff", "SUkqAAgAAAA="),
]
SOUNDS = [
    Media("audio", "audio/wav", WAV),
    Media("audio", "audio/mpeg", "SUQzBAAAAAAAAA=="),
    Media("audio", "audio/ogg", "T2dnUw=="),
    Media("audio", "audio/wav", WAV, name="call.wav"),
    Media("audio", "audio/mpeg", url="https://example.com/call.mp3"),
]
FILMS = [
    Media("video", "video/mp4", "AAAAGGZ0eXBtcDQy"),
    Media("video", url="https://example.com/film.mp4"),
    Media("video", "video/webm", url="https://example.com/film"),
]
FILES = [
    Media("file", "application/pdf", PDF, name="plan.pdf"),
    Media("file", "application/pdf", PDF),
    Media("file", "text/plain", "SGVsbG8u", name="hello.txt"),
    Media("file", url="https://example.com/plan.pdf"),
    Media("file", "application/pdf", url="https://example.com/plan", name="plan.pdf"),
    Media("file", file_id="file_abc", name="plan.pdf", provider="anthropic"),
    Media("file", "text/csv", file_id="file-abc"),
    Media("file", "application/pdf", PDF, native={"anthropic": {"citations": {"enabled": True}, "context": "A plan."}}),
    Media("file", "application/zip", "UEsDBA=="),
]
MEDIA = pick([*IMAGES, *SOUNDS, *FILMS, *FILES])
SHOWN = pick([*IMAGES[:2], *FILES[:2], SOUNDS[0]])
"""Those that an assistant makes."""

# What the assistant thinks


THOUGHTS = pick(
    [
        Reasoning("Think first."),
        Reasoning("Signed.", "anthropic", SIGNATURE),
        Reasoning("", "anthropic", SIGNATURE),
        Reasoning(signer="anthropic", encrypted=SIGNATURE),
        Reasoning("Signed.", "google", SIGNATURE),
        Reasoning("", "google", SIGNATURE),
        Reasoning("Summed up.", "openai", encrypted=SIGNATURE, id="rs_abc"),
        Reasoning(signer="openai", encrypted=SIGNATURE, id="rs_def"),
        Reasoning("Summed up.", "openai", id="rs_ghi"),
        Reasoning("Signed.", "xai", encrypted=SIGNATURE),
        Reasoning(" Lines.\n\nAnd more.\n"),
    ]
)

# What he says and what services do for him


_CITED = {"type": "web_search_result_location", "encrypted_index": "abc", "cited_text": "a"}
SOURCES = pick(
    [
        Source("https://example.com/page", "A page"),
        Source("https://example.com/page"),
        Source("https://example.com/page", "A page", native={"anthropic": _CITED}),
        Source("https://example.com/page", "A page", native={"openai": {"start_index": 0, "end_index": 5}}),
        Source(title="A plan", id="src_1", mime="application/pdf", name="plan.pdf"),
        Source(id="file-abc", name="plan.pdf", native={"openai": {"type": "file_citation", "index": 1}}),
    ]
)
_FOUND = [{"type": "web_search_result", "url": "https://example.com", "title": "A page", "encrypted_content": "abc"}]
_LOST = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
_SEARCH = '{"type":"search","query":"weather"}'
HOSTED: list[tuple[HostedCall, HostedResult | None]] = [
    (HostedCall("srvtoolu_1", "web_search", '{"query":"weather"}', "anthropic"), HostedResult("srvtoolu_1", "web_search", _FOUND, provider="anthropic")),
    (HostedCall("srvtoolu_2", "web_search", '{"query":"weather"}', "anthropic"), HostedResult("srvtoolu_2", "web_search", _LOST, "failed", "anthropic")),
    (HostedCall("srvtoolu_3", "web_search", '{"query":"weather"}', "anthropic"), None),
    (HostedCall("ws_1", "web_search", _SEARCH, "openai"), None),
    (
        HostedCall("ci_1", "code_interpreter", '{"code":"1+1","container_id":"cntr_1"}', "openai"),
        HostedResult("ci_1", "code_interpreter", [{"type": "logs", "logs": "2"}], provider="openai"),
    ),
    (
        HostedCall("fs_1", "file_search", '{"queries":["plan"]}', "openai"),
        HostedResult("fs_1", "file_search", [{"file_id": "file-abc", "text": "a"}], provider="openai"),
    ),
    (
        HostedCall("code_1", "code_execution", '{"language":"PYTHON","code":"1+1"}', "google"),
        HostedResult("code_1", "code_execution", {"outcome": "OUTCOME_OK", "output": "2"}, provider="google"),
    ),
    (
        HostedCall("code_2", "code_execution", '{"language":"PYTHON","code":"1/0"}', "google"),
        HostedResult("code_2", "code_execution", {"outcome": "OUTCOME_FAILED", "output": "no"}, "failed", "google"),
    ),
    (HostedCall("gs_1", "web_search", '{"queries":["weather"]}', "google"), HostedResult("gs_1", "web_search", {"found": 1}, provider="google")),
    (HostedCall("xs_1", "x_search", '{"query":"weather"}', "xai"), HostedResult("xs_1", "x_search", {"found": 1}, provider="xai")),
    (HostedCall("any_1", "search", "{}"), HostedResult("any_1", "search", "found")),
]  # fmt: skip
OTHERS = pick(
    [
        Other("anthropic", {"type": "container_upload", "file_id": "file_1"}),
        Other("openai", {"item": {"type": "compaction", "id": "cmp_1", "encrypted_content": SIGNATURE}}),
        Other("vercel_ai", {"type": "data-weather", "data": {"city": "Paris"}}),
        Other("pydantic_ai", {"part_kind": "compaction", "content": "So far.", "provider_name": "anthropic"}),
    ]
)

# Calls and their results


NAMES = ("weather", "shell", "search.web")
ARGUMENTS = [
    '{"city":"Paris"}',
    "{}",
    '{ "city" : "Zürich", "n": 12345678901234567890, "x": 1.0, "at": [null, {"a": true}] }',
    "",
    '{"city": "Par',
    "[1, 2, 3]",
    '"text"',
    "null",
    '{"INVALID_JSON":"x"}',
    '{"input":"x"}',
]
CALLS = pick(
    [
        *(Call("", NAMES[number % 3], arguments) for number, arguments in enumerate(ARGUMENTS)),
        Call("", "shell", "ls -l | wc", custom=True),
        Call("", "shell", "", custom=True),
        Call("", "weather", '{"city":"Rome"}', native={"google": {"thoughtSignature": SIGNATURE}}),
        Call("", "weather", '{"city":"Rome"}', native={"anthropic": {"cache_control": {"type": "ephemeral"}}}),
        Call("", "weather", '{"city":"Rome"}', native={"openai": {"id": "fc_1", "status": "completed"}}),
    ]
)
TOLD = [
    Result("", content=(Text("sunny"),)),
    Result(""),
    Result("", content=(Text("sunny"), Text("21 degrees"))),
    Result("", content=(Text('{"sky":"clear","t":21}'),), json=True),
    Result("", content=(Text('["clear",21]'),), json=True),
    Result("", content=(Text("21"),), json=True),
    Result("", content=(Text("true"),), json=True),
    Result("", content=(Text('{"output":"clear"}'),), json=True),
    Result("", content=(Text('{"error":"clear"}'),), json=True),
    Result("", content=(Text('{"type":"text","text":"a"}'),), json=True),
    Result("", content=(Text('[{"type":"text","text":"a"}]'),), json=True),
    Result("", content=(Text('{"sky": "clear"}'),)),
    Result("", content=(Text('{"error": "clear"}'),)),
    Result("", content=(Text("ERROR: sunny"),)),
    Result("", content=(Text(" spaced\n"),)),
    Result("", content=(Text("A picture:"), IMAGES[0])),
    Result("", content=(IMAGES[0],)),
    Result("", content=(IMAGES[1], Text("That is it."), FILES[0])),
    Result("", content=(FILES[1],)),
    Result("", content=(Text("sunny"),), native={"anthropic": {"cache_control": {"type": "ephemeral"}}}),
]
RESULTS = pick(TOLD)
OUTCOMES: st.SearchStrategy[Outcome] = pick(
    ["success", "success", "success", "failed", "denied", "interrupted", "retried"]
)
DENIED = (None, True, False)

# Prompts and users


PROMPT = st.lists(pick([*map(Text, WORDS[:9]), Text("Kept.", native={"anthropic": {"cache_control": {"type": "ephemeral"}}})]), min_size=1, max_size=2)  # fmt: skip
ROLES = pick(["system", "system", "developer"])
NAMED = pick([{}, {}, {}, {"openai": {"name": "ann"}}, {"vercel_ai": {"metadata": {"at": 1}}}, {"oumi": {"id": "m1"}}])


@st.composite
def prompts(draw: Any) -> list[Turn]:
    """Prompts that lead, one of which at most was given as instructions."""
    found = [Turn(draw(ROLES), tuple(draw(PROMPT))) for _ in range(draw(pick([1, 0, 2, 3])))]
    told = draw(pick([-1, 0, 1]))
    return [replace(turn, instructions=at == told and turn.role == "system") for at, turn in enumerate(found)]


@st.composite
def users(draw: Any) -> Turn:
    """What a user says and shows."""
    return Turn("user", tuple(draw(st.lists(TEXTS | MEDIA, min_size=1, max_size=3))), native=draw(NAMED))


KINDS = "text call thought call hosted source text refusal media approval thought other".split()


class _Ids:
    """The ids of calls; those that are made up are numbered over the whole talk."""

    def __init__(self) -> None:
        self.given = count(1)
        self.made_up = count(1)

    def next(self, *, made_up: bool) -> str:
        return f"call_{next(self.made_up)}" if made_up else f"id_{next(self.given)}"


@st.composite
def assistants(draw: Any, ids: _Ids, hosted: list[Any]) -> Turn:
    """What the assistant thinks, says, calls, and has done by services, in any order."""
    made_up = draw(pick([False, False, False, True]))
    blocks: list[Any] = []
    kinds = draw(st.lists(pick(KINDS), min_size=draw(pick([2, 4, 0])), max_size=6))
    for kind in kinds:
        match kind:
            case "text":
                blocks.append(draw(TEXTS))
            case "thought":
                blocks.append(draw(THOUGHTS))
            case "refusal":
                blocks.append(Refusal("I cannot help with that."))
            case "source":
                blocks += [draw(TEXTS), draw(SOURCES)]
            case "media":
                blocks.append(draw(SHOWN))
            case "other":
                blocks.append(draw(OTHERS))
            case "hosted" if hosted:
                called, gave = hosted.pop(draw(st.integers(0, len(hosted) - 1)))
                blocks += [called, gave] if gave else [called]
            case "call" | "approval":
                blocks.append(replace(draw(CALLS), id=ids.next(made_up=made_up), made_up=made_up))
                if kind == "approval":
                    asked = Approval(blocks[-1].id, f"ask_{blocks[-1].id}", draw(pick(DENIED)), draw(pick(["", "No."])))
                    blocks.append(asked)
    return Turn("assistant", tuple(blocks))


@st.composite
def answers(draw: Any, said: Turn) -> list[Turn]:
    """Results of a turn's calls, some of which may be left out or out of order, and what answers nothing."""
    calls = [block for block in said.blocks if type(block) is Call]
    asked = {block.call: block.approved for block in said.blocks if type(block) is Approval}
    order = draw(pick(["all", "all", "reversed", "first", "none"])) if calls else "none"
    answered = {"all": calls, "reversed": calls[::-1], "first": calls[:1], "none": []}[order]
    results = []
    for call in answered:
        outcome = "denied" if asked.get(call.id) is False else draw(OUTCOMES)
        named = call.name or "" if draw(pick([False, True])) else ""
        told = draw(RESULTS)
        results.append(replace(told, id=call.id, name=named, outcome=outcome, made_up=call.made_up))
    if draw(pick([False] * 11 + [True])):
        results.append(replace(draw(RESULTS), id="id_gone", name=draw(pick(["weather", ""]))))
    return [Turn("tool", tuple(results))] if results else []


TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "weather", "description": "d", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "time"}, PRIVATE: Private({"anthropic": {"cache_control": {"type": "ephemeral"}}})},
    {"type": "function", "function": {"name": "sql", "parameters": {"type": "object", "properties": {}}, "strict": True}},
    {"type": "custom", "custom": {"name": "shell", "description": "Runs."}},
]  # fmt: skip


@st.composite
def talks(draw: Any) -> Conversation:
    """A conversation: prompts, and then what users, assistants, tools and prompts in the middle say in turn."""
    ids, hosted = _Ids(), HOSTED.copy()
    turns: list[Turn] = draw(prompts())
    for kind in draw(st.lists(pick(["user", "assistant", "assistant", "assistant", "prompt"]), min_size=2, max_size=5)):
        if kind == "user":
            turns.append(draw(users()))
        elif kind == "prompt":
            turns.append(Turn(draw(ROLES), tuple(draw(PROMPT))))
        else:
            turns.append(draw(assistants(ids, hosted)))
            turns += draw(answers(turns[-1]))
    tools = draw(pick([[], TOOLS[:1], TOOLS]))
    return Conversation(view.public(turns), tools, turns=tuple(turns))


TALKS = talks()
