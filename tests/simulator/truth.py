"""What is true of a played log, by the words of the contract: conversations with their kinds, and every logged reply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tests.simulator.canonical import Canonical, of_node, spelled, squeezed
from tests.simulator.nodes import CLEARED, Kind, Node, Place, Tree


class Message(NamedTuple):
    """A message that a conversation holds."""

    canonical: Canonical
    reasoning: str = ""
    own: bool = True
    """Whether it was said here; a copy may also stand without its reasoning."""
    others: frozenset[Canonical] = frozenset()
    """Other wordings that were sent, where the last request of the path lacks the message and so decides on none."""
    optional: bool = False
    """Whether a record may lack it: what a client kept of an interrupted reply, before the reply that replaces it."""


class Conversation(NamedTuple):
    """A path that ends with a sampled reply which, side requests and retries aside, nothing goes on from."""

    name: str
    session: str
    kind: Kind
    parent: str | None
    messages: tuple[Message, ...]
    known: frozenset[Canonical]
    """These messages in every wording that was sent."""
    end: Place
    behaviour: str


class Reply(NamedTuple):
    """A logged reply."""

    file: str
    line: int
    session: str
    kind: Kind
    conversation: str | None
    """``None`` for a retry, and for one whose words were sampled again."""
    whole: bool
    restored: bool
    """Whether its request lacked results or messages that the record shows."""
    canonical: Canonical
    behaviour: str

    @property
    def loss(self) -> bool:
        """Whether it carries loss, exactly once; else never."""
        return self.loss_if_restored and not self.restored

    @property
    def loss_if_restored(self) -> bool:
        """The same with ``--restored-loss 1``."""
        return self.whole and self.conversation is not None


class Truth(NamedTuple):
    """All of it."""

    sessions: dict[str, list[str]]
    """The names of each session's conversations."""
    conversations: dict[str, Conversation]
    replies: list[Reply]
    """In the order of files and lines."""
    results: dict[str, frozenset[str]]
    """The texts of the results of each call."""
    choices: frozenset[Canonical]
    """Choices from which nothing continues, which may be branches or in no record."""


def judged(sessions: Iterable[tuple[str, list[Tree]]]) -> Truth:
    """The truth of what was played, a name and trees for each session."""
    sessions = list(sessions)
    conversations: dict[str, Conversation] = {}
    replies: list[Reply] = []
    named: dict[str, list[str]] = {}
    for session, trees in sessions:
        found = _Session(session, [tree for tree in trees if tree.replies])
        named[session] = [each.name for each in found.conversations]
        conversations.update((each.name, each) for each in found.conversations)
        replies += found.replies
    nodes = {node for _, trees in sessions for tree in trees for leaf in tree.replies for node in leaf.path}
    results: dict[str, set[str]] = {}
    for node in nodes:
        if node.role == "tool":
            results.setdefault(spelled(node.call.name, node.call.arguments), set()).add(squeezed(node.text))
    choices = {Canonical("assistant", squeezed(text)) for node in nodes if node.sampled for text in node.sampled.others}
    texts = {call: frozenset(each) for call, each in results.items()}
    return Truth(named, conversations, sorted(replies), texts, frozenset(choices))


class _Session:
    """The trees of a session, with their paths ranked."""

    def __init__(self, session: str, trees: list[Tree]):
        self.session = session
        self.ranked = {tree: _ranked(tree) for tree in trees}
        self.owners: dict[Node, Node] = {}
        self.names: dict[Node, str] = {}
        for number, tree in enumerate(trees):
            for place, leaf in enumerate(self.ranked[tree]):
                self.names[leaf] = f"{session}:{number}.{place}"
                for node in leaf.path:
                    self.owners.setdefault(node, leaf)
        self.kinds = {leaf: _kind(tree, place, leaf) for tree in trees for place, leaf in enumerate(self.ranked[tree])}
        self.conversations = [self._conversation(tree, leaf) for tree in trees for leaf in self.ranked[tree]]
        self.replies = [reply for tree in trees for node in tree.replies for reply in self._replies(node)]

    def _conversation(self, tree: Tree, leaf: Node) -> Conversation:
        messages = tuple(_messages(leaf))
        parent = self._parent(tree, leaf)
        end = leaf.sampled.places[-1]
        name, kind = self.names[leaf], self.kinds[leaf]
        known = frozenset(_known(leaf))
        return Conversation(name, self.session, kind, parent, messages, known, end, leaf.sampled.behaviour)

    def _parent(self, tree: Tree, leaf: Node) -> str | None:
        trunk = self.ranked[tree][0]
        if tree.about:
            copies = (node.copy_of for node in reversed(leaf.path) if node.copy_of)
            owners = (self.owners[node] for node in copies if node in self.owners)
            return self.names[next(owners, self.ranked[tree.about][0])]
        if leaf is trunk:
            return self.names[self.owners[tree.anchor]] if tree.anchor else None
        shared = (self.owners[node] for node in reversed(leaf.path) if self.owners[node] is not leaf)
        return self.names[next(shared, trunk)]

    def _replies(self, node: Node) -> Iterable[Reply]:
        sampled = node.sampled
        owner = None if sampled.retried or sampled.same_as else self.owners[node]
        kind: Kind = "retry" if sampled.retried else "branch" if sampled.same_as else self.kinds[owner]
        restored = bool(sampled.request.cleared or sampled.request.dropped)
        name = owner and self.names[owner]
        shared = (sampled.whole, restored, of_node(node), sampled.behaviour)
        for place in sampled.places[:-1]:
            yield Reply(*place, self.session, "retry", None, *shared)
        yield Reply(*sampled.places[-1], self.session, kind, name, *shared)


def _ranked(tree: Tree) -> list[Node]:
    """The ends of the tree's paths: the trunk first, then by sampled replies; of equals the later first."""
    counted = [node for node in tree.replies if not node.sampled.retried and not node.sampled.same_as]
    inner = {
        above
        for node in counted
        if not node.sampled.side or tree.kind == "side"
        for above in node.path[:-1]
        if above.sampled
    }
    leaves = [node for node in counted if node not in inner]
    return sorted(leaves, key=lambda leaf: (*_rank(tree, leaf), leaf.sampled.at), reverse=True)


def _rank(tree: Tree, leaf: Node) -> tuple[bool, int]:
    aside = leaf.sampled.side and tree.kind != "side"
    said = sum(bool(node.sampled and not node.sampled.side) for node in leaf.path)
    return not aside, said


def _kind(tree: Tree, place: int, leaf: Node) -> Kind:
    if tree.kind == "side" or leaf.sampled.side:
        return "side"
    return "branch" if place else tree.kind


def _messages(leaf: Node) -> Iterable[Message]:
    """What the record holds: each message as the last request of its path that had it, with what is restored."""
    requests = [node.sampled.request for node in reversed(leaf.path) if node.sampled]
    last = requests[0]
    if last.system:
        yield Message(Canonical("system", squeezed(last.system)))
    for node in leaf.path:
        newest = next((request for request in requests if node not in request.dropped | request.stored), last)
        said = of_node(node, newest.changed.get(node))
        texts = {node.text, *node.worded} if node in last.dropped else set()
        others = frozenset(of_node(node, text) for text in texts - {CLEARED})
        yield Message(said, squeezed(node.origin.reasoning), node.copy_of is None, others, _is_optional(node, leaf))
        if node in last.extra:
            yield Message(Canonical("user", squeezed(last.extra[node])))


def _is_optional(node: Node, leaf: Node) -> bool:
    """Whether a message is an interrupted reply that is followed by another reply."""
    interrupted = bool(node.sampled and not node.sampled.whole)
    return interrupted and any(each.role == "assistant" and each.parent is node for each in leaf.path)


def _known(leaf: Node) -> Iterable[Canonical]:
    for node in leaf.path:
        yield of_node(node)
        yield from (of_node(node, text) for text in node.worded)
        for request in (reply.sampled.request for reply in node.children if reply.sampled):
            yield Canonical("system", squeezed(request.system))
            yield from (Canonical("user", squeezed(text)) for text in request.extra.values())
