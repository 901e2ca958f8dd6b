"""What happens in a recording: the processes that are started one after another, and what the model does in each."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """What the model does next for a prompt."""

    do: str
    """``text``, ``call``, ``parallel`` (two calls), ``fail`` (a call that fails), ``sleep`` (a call that takes long, until the
    client is interrupted), ``agent`` (a sub-agent), ``wait`` (for
    it, where the agent has a tool for that), ``image`` (a
    call whose result is an image), ``mcp`` (a call of an MCP server's tool), ``error``, ``cut`` (a stream that ends
    midway), ``hold`` (a stream that stops midway until the client leaves), ``length``, ``refusal``, ``compact`` (a text,
    with usage that makes the client compact)."""
    of: str = ""
    """Of ``agent``: the mark of the sub-agent's prompt; of ``error``: the status."""


class Prompt(NamedTuple):
    """A prompt, and the process of the agent that answers it."""

    how: str
    """``new``, ``resume`` or ``fork`` is a process that answers this prompt only. ``terminal`` is a new session at a
    terminal, ``typed`` another prompt there, and ``rewind`` one after the last one was taken back."""
    steps: tuple[Step, ...]
    model: int = 0
    has_image: bool = False
    compacts: bool = False
    """The agent's command for a compaction instead of a prompt."""


class Scenario(NamedTuple):
    """A recording that is made of each agent that can."""

    name: str
    sentence: str
    prompts: tuple[Prompt, ...]
    needs: tuple[str, ...] = ()
    """Abilities of a client without which it is not possible."""
    agents: dict[str, tuple[Step, ...]] = {}  # noqa: RUF012
    """Steps of sub-agents by the mark of their prompt."""


CALL, TEXT = Step("call"), Step("text")

SCENARIOS = (
    Scenario("tools", "Three turns with tools", (Prompt("new", (CALL, CALL, CALL, TEXT)),)),
    Scenario("parallel", "Two calls in one reply", (Prompt("new", (Step("parallel"), TEXT)),)),
    Scenario("failure", "A call that fails, and its correction", (Prompt("new", (Step("fail"), CALL, TEXT)),)),
    Scenario(
        "resume",
        "A session resumed by two more processes",
        (Prompt("new", (CALL, TEXT)), Prompt("resume", (CALL, TEXT)), Prompt("resume", (TEXT,))),
        ("resume",),
    ),
    Scenario(
        "fork",
        "A fork of a session, resumed",
        (Prompt("new", (CALL, TEXT)), Prompt("fork", (CALL, TEXT)), Prompt("resume", (TEXT,))),
        ("resume", "fork"),
    ),
    Scenario(
        "subagent",
        "A sub-agent that starts another sub-agent if possible",
        (Prompt("new", (Step("agent", "s1"), Step("wait"), TEXT)),),
        ("agents",),
        {"s1": (CALL, Step("agent", "s2"), Step("wait"), TEXT), "s2": (CALL, TEXT)},
    ),
    Scenario(
        "compaction",
        "Two compactions, because the context is nearly full",
        (
            Prompt("new", (CALL, Step("compact"))),
            Prompt("resume", (CALL, Step("compact"))),
            Prompt("resume", (CALL, TEXT)),
        ),
        ("resume",),
    ),
    Scenario(
        "compact",
        "Two compactions requested by command",
        (
            Prompt("new", (CALL, TEXT)),
            Prompt("resume", (), compacts=True),
            Prompt("resume", (CALL, TEXT)),
            Prompt("resume", (), compacts=True),
            Prompt("resume", (CALL, TEXT)),
        ),
        ("compact",),
    ),
    Scenario(
        "terminal",
        "Two prompts in a terminal session, which another process resumes",
        (Prompt("terminal", (CALL, TEXT)), Prompt("typed", (CALL, TEXT)), Prompt("resume", (TEXT,))),
        ("resume", "terminal"),
    ),
    Scenario(
        "rewind",
        "A prompt that is undone and replaced",
        (
            Prompt("terminal", (CALL, TEXT)),
            Prompt("typed", (CALL, TEXT)),
            Prompt("rewind", (CALL, TEXT)),
            Prompt("resume", (TEXT,)),
        ),
        ("resume", "rewind"),
    ),
    Scenario(
        "interrupt",
        "An interrupt while a reply is streamed, then a resume",
        (Prompt("new", (CALL, Step("hold"))), Prompt("resume", (CALL, TEXT))),
        ("resume",),
    ),
    Scenario(
        "stopped",
        "An interrupt while a tool runs, then a resume",
        (Prompt("new", (CALL, Step("sleep"))), Prompt("resume", (CALL, TEXT))),
        ("resume",),
    ),
    Scenario(
        "errors",
        "Requests that fail with 429, 529 and 500",
        (Prompt("new", (Step("error", "429"), CALL, Step("error", "529"), CALL, Step("error", "500"), TEXT)),),
    ),
    Scenario(
        "truncated",
        "A stream that ends midway, then a resume",
        (Prompt("new", (CALL, Step("cut"))), Prompt("resume", (CALL, TEXT))),
        ("resume",),
    ),
    Scenario(
        "sessions",
        "Two sessions in one project, the second one resumed",
        (Prompt("new", (CALL, TEXT)), Prompt("new", (TEXT,)), Prompt("resume", (TEXT,))),
        ("resume",),
    ),
    Scenario(
        "models",
        "A resume with another model",
        (Prompt("new", (CALL, TEXT)), Prompt("resume", (TEXT,), model=1)),
        ("resume", "models"),
    ),
    Scenario("image", "An image in the prompt", (Prompt("new", (CALL, TEXT), has_image=True),), ("image",)),
    Scenario("screenshot", "An image in a result", (Prompt("new", (Step("image"), TEXT)),), ("screenshot",)),
    Scenario("mcp", "A call to an MCP server's tool", (Prompt("new", (Step("mcp"), TEXT)),), ("mcp",)),
    Scenario(
        "length",
        "A reply that reaches its token limit",
        (Prompt("new", (CALL, Step("length"))), Prompt("resume", (TEXT,))),
        ("resume",),
    ),
    Scenario(
        "refusal",
        "A reply filtered by the provider",
        (Prompt("new", (CALL, Step("refusal"))), Prompt("resume", (TEXT,))),
        ("resume",),
    ),
)

BEHIND_LITELLM = ("tools", "subagent", "compaction", "errors")
"""Scenarios that are also recorded with LiteLLM's proxy between the agent and its model."""
