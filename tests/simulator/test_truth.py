"""Kinds, parents and owners by the words of the contract, of trees that are written down."""

from tests.conftest import cases
from tests.simulator.nodes import Node, OriginReply, Place, Request, Tree
from tests.simulator.truth import judged


class Drawn:
    """Trees of a session: ``reply("b", "a")`` is a reply ``b`` to a prompt behind reply ``a``."""

    def __init__(self):
        self.trees = {}
        self.nodes = {}

    def tree(self, name, kind, anchor=None, about=None):
        self.trees[name] = Tree(kind, self.nodes.get(anchor), self.trees.get(about))
        return self

    def reply(self, name, after=None, tree="t", prompt=None, **more):
        above = self.nodes[prompt].parent if prompt else Node("user", f"to {name}", self.nodes.get(after))
        node = Node("assistant", name, above)
        at = sum(len(each.replies) for each in self.trees.values())
        ended = None if more.pop("broken", False) else "stop"
        node.sampled = OriginReply(
            Request([], "", (), 1), at, ended, more.pop("side", False), "", [Place("f", at + 1)], **more
        )
        self.trees[tree].replies.append(node)
        self.nodes[name] = node
        return self

    def told(self):
        """Each reply with its kind, and each conversation by its last reply with the last reply of its parent."""
        truth = judged([("s", list(self.trees.values()))])
        ends = {name: each.messages[-1].canonical.text for name, each in truth.conversations.items()}
        kinds = {reply.canonical.text: reply.kind for reply in truth.replies}
        parents = {ends[name]: ends.get(each.parent) for name, each in truth.conversations.items()}
        owners = {reply.canonical.text: ends.get(reply.conversation) for reply in truth.replies}
        return kinds, parents, owners


def main():
    return Drawn().tree("t", "main")


def forked():
    return main().reply("a").reply("b", "a").reply("c", "b")


@cases("drawn, kinds, parents",
    ("a path is a conversation", forked(), {"a": "main", "b": "main", "c": "main"}, {"c": None}),
    (
        "the path with the most replies is the trunk, though another was taken later",
        forked().reply("x", "a"),
        {"a": "main", "b": "main", "c": "main", "x": "branch"},
        {"c": None, "x": "c"},
    ),
    (
        "of equals, the one that ends last is the trunk",
        main().reply("a").reply("b", "a").reply("x", "a"),
        {"a": "main", "b": "branch", "x": "main"},
        {"x": None, "b": "x"},
    ),
    (
        "a branch of a branch leaves that branch",
        forked().reply("d", "c").reply("x", "a").reply("y", "x").reply("z", "x"),
        {"a": "main", "b": "main", "c": "main", "d": "main", "x": "branch", "y": "branch", "z": "branch"},
        {"d": None, "z": "d", "y": "z"},
    ),
    (
        "a side request within a tree ends a conversation and is not counted",
        main().reply("a").reply("b", "a").reply("x", "a").reply("s", "x", side=True),
        {"a": "main", "b": "branch", "x": "main", "s": "side"},
        {"x": None, "b": "x", "s": "x"},
    ),
    (
        "a side request is the trunk of nothing, though it ends the longest path",
        main().reply("a").reply("s", "a", side=True),
        {"a": "main", "s": "side"},
        {"a": None, "s": "a"},
    ),
    (
        "a side request within a branch leaves that branch",
        forked().reply("x", "a").reply("s", "x", side=True),
        {"a": "main", "b": "main", "c": "main", "x": "branch", "s": "side"},
        {"c": None, "x": "c", "s": "x"},
    ),
    (
        "a reply that broke off and was asked for again is a retry, and nothing of its own",
        main().reply("a").reply("r", "a", broken=True, retried=True).reply("b", prompt="r"),
        {"a": "main", "r": "retry", "b": "main"},
        {"b": None},
    ),
    (
        "a reply that broke off and was not asked for again keeps the kind of its path",
        main().reply("a").reply("b", "a", broken=True),
        {"a": "main", "b": "main"},
        {"b": None},
    ),
    (
        "a regenerated reply is a branch",
        main().reply("a").reply("r", "a").reply("b", prompt="r"),
        {"a": "main", "r": "branch", "b": "main"},
        {"b": None, "r": "b"},
    ),
    (
        "what comes after a compaction belongs to who holds the last reply of what was summarised",
        forked().reply("x", "a").tree("n", "compacted", anchor="x").reply("m", tree="n"),
        {"a": "main", "b": "main", "c": "main", "x": "branch", "m": "compacted"},
        {"c": None, "x": "c", "m": "x"},
    ),
    (
        "a sub-agent belongs to who holds the call, its branches to it",
        forked().tree("n", "subagent", anchor="b").reply("m", tree="n").reply("o", "m", tree="n").reply("p", "m", tree="n"),
        {"a": "main", "b": "main", "c": "main", "m": "subagent", "o": "branch", "p": "subagent"},
        {"c": None, "p": "c", "o": "p"},
    ),
    (
        "all paths of a side tree are side, about the trunk",
        forked().tree("n", "side", about="t").reply("m", tree="n", side=True).reply("o", tree="n", side=True),
        {"a": "main", "b": "main", "c": "main", "m": "side", "o": "side"},
        {"c": None, "m": "c", "o": "c"},
    ),
)  # fmt: skip
def test_kinds_and_parents(drawn, kinds, parents):
    assert drawn.told()[:2] == (kinds, parents)


def test_a_reply_belongs_to_the_trunk_or_else_to_the_longest_path_that_holds_it():
    owners = forked().reply("d", "c").reply("x", "a").reply("y", "x").reply("z", "x").reply("w", "y").told()[2]
    assert owners == {"a": "w", "x": "w", "y": "w", "w": "w", "b": "d", "c": "d", "d": "d", "z": "z"}
