"""Find the replies that a text quotes, by the runs of words that both contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.trees.canonical import runs, sketch
from chatsquash.trees.replies import Reply

QUOTED = 2
"""The minimum number of word runs that a text shares with a reply that it quotes."""
MOST_QUOTED = 8
"""The maximum number of replies to remember for a word run, and of quoted replies to examine."""


class Quotations(Struct):
    """An index of replies by their word runs."""

    applies: Callable[[Reply], bool] | None = None
    """Selects the replies to remember; ``None`` for all."""
    _seen: int = 0
    _by_run: dict[int, tuple[Reply, ...]] = field(default_factory=dict)

    def learn(self, replies: list[Reply]) -> None:
        """Remember new replies; ``replies`` are all replies so far."""
        for reply in replies[self._seen :]:
            if self.applies is None or self.applies(reply):
                self._learn(reply)
        self._seen = len(replies)

    def _learn(self, reply: Reply) -> None:
        only = (reply,)
        for run in sketch(runs(chat.text(reply.message) or "")):
            recent = self._by_run.setdefault(run, only)
            if recent is not only:
                self._by_run[run] = recent[1 - MOST_QUOTED :] + only

    def quoted(self, words: set[int]) -> list[Reply]:
        """Return the replies that a text quotes, the most quoted last; ``words`` are the text's word runs."""
        count: dict[int, int] = {}
        replies: dict[int, Reply] = {}
        for run in self._by_run.keys() & words:
            for reply in self._by_run[run]:
                replies[reply.number] = reply
                count[reply.number] = count.get(reply.number, 0) + 1
        quoted = [(times, number) for number, times in count.items() if times >= QUOTED]
        return [replies[number] for _, number in sorted(quoted)]

    def most_similar(self, words: set[int]) -> list[Reply]:
        """Return the replies that share the most word runs with a text, even if it is only one."""
        count: Counter[Reply] = Counter(reply for run in words for reply in self._by_run.get(run, ()))
        return [reply for reply, _ in count.most_common(MOST_QUOTED)]
