"""Make samples of the token ids in a gateway's log, so that each trained token was sampled in its logged context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import structs

from chatsquash.core.model import Entry
from chatsquash.session.conversations import entries_of
from chatsquash.session.sample_records import SampledSession, in_conversation, of_samples, select_replies
from chatsquash.session.samples import Sample, SampleRequest, messages_of, snapshot_of
from chatsquash.session.session import Session
from chatsquash.session.token_breaks import BreakReason, LoggedSequence, client_change, name_break
from chatsquash.session.token_chains import Break, join, key_of
from chatsquash.session.token_sampling import NO_TOKEN_IDS, Draft, TokenSampling, break_findings, take_all
from chatsquash.trees.account import place_replies
from chatsquash.trees.replies import Reply
from chatsquash.trees.token_store import Key, TokenStore


def of_log(session: Session, name: str, request: SampleRequest) -> SampledSession:
    """Make the samples of a gateway log."""
    store = session.growth.tokens_of_replies
    assert store is not None
    return _LogSampling(session, name, request, store).sampled_session()


class _LogSampling(TokenSampling):
    """Makes the samples of a log."""

    def __init__(self, session: Session, name: str, request: SampleRequest, store: TokenStore) -> None:
        super().__init__(request, store)
        self._session, self._name = session, name
        self._selection = select_replies(session, name, request.options)
        self._paths = self._selection.reply_paths()
        self.sampling.canon = self._selection.trees.requests.canon

    def sampled_session(self) -> SampledSession:
        """Return the samples with the outcomes of all replies and the findings."""
        for number in self._selection.with_sample(self._paths):
            if self.key(number) not in self.store:
                self.leave_out(number, NO_TOKEN_IDS)
        chains = join((reply for reply, _ in self._paths.values()), self.store)
        samples = self.samples(chains, self._selection.with_sample(self._paths))
        records = [
            in_conversation(record, self._paths[sample.key][1], self._selection.ids)
            for sample, record in zip(samples, self.records(samples), strict=True)
        ]
        pairs = [*zip(samples, records, strict=True)]
        results, why, findings, coverage = of_samples(self._session, self._name, self._selection, self.sampling, pairs)
        lines: dict[str, list[int | None]] = {}
        for line, reason in sorted((later.line, reason) for later, reason in self._name_breaks(chains.breaks)):
            lines.setdefault(reason, []).append(line)
        breaks, more = break_findings(lines)
        last = self._session.snapshot.entry.line if self._session.snapshot else None
        return results, why, [*findings, *self.findings(last), *more], structs.replace(coverage, breaks=breaks)

    def key(self, number: int) -> Key:
        """Return the key of a reply's token ids."""
        return key_of(self._paths[number][0])

    def drafts(self, numbers: Iterable[int], skips: Callable[[int], bool] = take_all) -> Iterator[Draft]:
        """Yield a sample for each reply."""
        replies = [self._paths[number][0] for number in numbers]
        for reply, entry in entries_of(replies, self._session, self.request.reread):
            if skips(reply.number):
                continue
            conversation = self._selection.ids[id(self._paths[reply.number][1])]
            yield reply.number, self.sampling.attempt(reply.number, conversation, snapshot_of(reply.path(), entry))

    def ordinals(self, sample: Sample) -> Mapping[int, int]:
        """Return the positions of the replies in the path of a sample."""
        reply, path = self._paths[sample.key]
        placement = place_replies(path, reply.path(), sample.messages, self.sampling.canon)
        return {number: position.ordinal for number, position in placement.positions.items()}

    def model(self, number: int) -> str:
        """Return the model of a reply."""
        return self._selection.trees.replies[number].model

    def exclude(self, number: int, why: str) -> None:
        """Exclude a reply from training."""
        self._selection.exclusion_reasons[number] = why

    def _name_breaks(self, breaks: list[Break]) -> Iterator[tuple[Reply, BreakReason]]:
        """Yield the later reply of each break with the reason."""
        replies = {reply.number: reply for each in breaks for reply in each}
        uses = Counter(reply.number for each in breaks for reply in each)
        pending: dict[int, list[Break]] = {}
        for each in breaks:
            for reply in each:
                pending.setdefault(reply.number, []).append(each)
        entries: dict[int, Entry] = {}
        for reply, entry in entries_of(replies.values(), self._session, self.request.reread):
            entries[reply.number] = entry
            for each in pending[reply.number]:
                if {one.number for one in each} <= entries.keys():
                    yield each.later, self._reason(each, entries)
                    uses.subtract(one.number for one in each)
            # Entries refer to all messages of their requests, so few of them stay in memory.
            entries = {number: known for number, known in entries.items() if uses[number]}

    def _reason(self, each: Break, entries: dict[int, Entry]) -> BreakReason:
        between: list[Reply] = []
        for reply in each.later.back():
            if reply.number == each.earlier.number:
                break
            between.append(reply)
        else:
            between = [each.later]  # a request that repeats an earlier reply in another conversation
        earlier, later = entries[each.earlier.number], entries[each.later.number]
        sequences = (self._sequence(each.earlier, earlier), self._sequence(each.later, later))
        return name_break(*sequences, client_change(earlier, later, between), self.request.tokenizer)

    def _sequence(self, reply: Reply, entry: Entry) -> LoggedSequence:
        key = key_of(reply)
        return LoggedSequence(
            self.store.sequence(key),
            self.store.get(key).prompt,
            self.model(reply.number),
            messages_of(entry)[-2:],
            reply.is_truncated(has_finish_reasons=False),
        )
