"""How a client sends a conversation: what it rewrites, puts in, leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.simulator.nodes import CLEARED, Call, Node, Request
from tests.simulator.words import Words

_REMINDER = "<system-reminder>\n{}\n</system-reminder>"


@dataclass(eq=False)
class Client:
    """The habits of a client, each of which a behaviour switches on."""

    words: Words
    style: str
    rewrites_ids: bool = False
    respells: bool = False
    """Arguments."""
    strips_reasoning: bool = False
    parts: bool = False
    """Texts come in parts, which begin and end elsewhere from request to request."""
    reminds: str | None = None
    """``moves``: with the last user message; ``comes`` and ``goes``: with the first, from some request on or until then."""
    tagged: bool = True
    clock: bool = False
    short: bool = False
    """Many prompts and answers are short ones that are repeated."""
    respells_summaries: bool = False
    wraps_prompts: bool = False
    plain_side: bool = False
    """Side requests have the tools, the limit and the model of their conversation."""
    keeps_first: bool = False
    """A window keeps the first prompt and its answer, and drops what stands between."""
    names_responses: bool = True
    floats: bool = False
    """Integers of arguments are sent back as floating-point numbers, as a protobuf ``Struct`` has them."""
    thinks: bool = False
    """Reasoning comes as a ``<think>`` block of the text, which is not sent back."""
    reorders: bool = False
    """Results of parallel calls are in another order in every other request."""
    stores: bool = False
    """The server keeps the conversation, and requests contain only what is new."""
    refers_back: bool = False
    """It refers to what the server keeps by the id of the last response."""
    streams: bool = False
    """Responses are streamed, and logged as the text of their events."""
    lists_prompts: bool = False
    """Summaries list the prompts of the user word by word."""
    notes: dict[Node, str] = field(default_factory=dict)
    """Texts that are added to prompts, until they are removed."""
    repeated: set[Node] = field(default_factory=set)
    """Results that are sent twice from now on."""
    sent: int = 0
    note: str = ""

    def request(
        self, path: list[Node], system: str, tools: tuple[str, ...], limit: int, cleared: set[Node], window: int
    ) -> Request:
        """What is sent for a reply to this path."""
        self.sent += 1
        dropped = _dropped(path, window)
        if self.keeps_first and len(path) > 2 and path[1].sampled and not path[1].calls:
            dropped -= {*path[:2]}
        changed, extra = self._reminded(path, dropped)
        changed |= {node: f"{node.text}\n\n{self.notes[node]}" for node in path if node in self.notes}
        for node, text in changed.items():
            node.worded.add(text)
        gone = frozenset(node for node in path if node in cleared)
        for node in gone:
            node.worded.add(CLEARED)
        if self.clock and system:
            minute = self.sent * 7
            system = f"{system}\nThe time is {8 + minute // 60 % 12:02}:{minute % 60:02}, session step {self.sent}."
        repeated = frozenset(node for node in path if node in self.repeated)
        reordered = self.reorders and self.sent % 2 == 0
        return Request(
            path, system, tools, limit, changed, gone, dropped, extra, reordered=reordered, repeated=repeated
        )

    def call_id(self, call: Call) -> str:
        """A call's id as the client sends it back."""
        return call.id.replace("_", "") + "x" if self.rewrites_ids else call.id

    def pieces(self, text: str) -> list[str]:
        """A text in the parts in which it is sent; one part is sent as it is where the client sends none."""
        middle = text.find("\n\n")
        if self.parts and middle > 0 and self.sent % 3 == 0:
            return [text[: middle + 2], text[middle + 2 :]]
        return [text]

    @property
    def lists(self) -> bool:
        """Whether texts are sent as lists of parts this time."""
        return self.parts and self.sent % 2 == 0

    def _reminded(self, path: list[Node], dropped: frozenset[Node]) -> tuple[dict[Node, str], dict[Node, str]]:
        said = [node for node in path if node.role == "user" and node not in dropped]
        if not self.reminds or not said:
            return {}, {}
        if self.reminds == "moves":
            return self._moving(path, said[-1])
        if (self.sent > 4) is (self.reminds == "comes"):
            self.note = self.note or self._reminder()
            return {said[0]: f"{said[0].text}\n\n{self.note}"}, {}
        return {}, {}

    def _moving(self, path: list[Node], last: Node) -> tuple[dict[Node, str], dict[Node, str]]:
        if self.style == "anthropic" and self.tagged and path[-1].role == "tool":
            return {}, {path[-1]: self._reminder()}
        return {last: f"{last.text}\n\n{self._reminder()}"}, {}

    def _reminder(self) -> str:
        said = self.words.sentence()
        return _REMINDER.format(said) if self.tagged else f"Note: {said}"


def _dropped(path: list[Node], window: int) -> frozenset[Node]:
    """The oldest messages, so that about so many are left; what is left begins with a user and holds a reply."""
    if not window or len(path) <= window:
        return frozenset()
    starts = [at for at, node in enumerate(path) if node.role == "user" and len(path) - at <= window]
    held = [at for at in starts if any(node.sampled for node in path[at:])]
    if not held:
        held = [at for at, node in enumerate(path) if node.role == "user" and any(each.sampled for each in path[at:])][
            -1:
        ]
    return frozenset(path[: held[0]]) if held else frozenset()
