"""Make samples of logged token ids, so that each trained token is one that was sampled, in its logged context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from chatsquash.checks import sampling as checks
from chatsquash.core.model import Entry
from chatsquash.core.outcome import Record
from chatsquash.core.token_ids import ID_SIZE
from chatsquash.records.token_rows import TrainedSpan, token_row
from chatsquash.session.conversations import entries_of
from chatsquash.session.sample_records import (
    SampledSession,
    Selection,
    in_conversation,
    of_samples,
    select_replies,
    snapshot_of,
)
from chatsquash.session.samples import Sample, SampleRequest, Sampling, TrainedReply
from chatsquash.session.session import LineFinding, Session
from chatsquash.session.token_breaks import LoggedSequence, name_break
from chatsquash.session.token_chains import Break, TokenChain, TokenChains, join, key_of, shorten
from chatsquash.trees.account import place_replies
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.token_store import TokenStore

NO_TOKEN_IDS, PRIVATE = "no-token-ids", "private-text"
"""Reasons why a reply is not trained on, in addition to those of ``trees.loss``."""
_CUT = "cut"


def of_log(session: Session, name: str, request: SampleRequest) -> SampledSession:
    """Make the samples of a gateway log."""
    store = session.growth.tokens_of_replies
    assert store is not None
    return _LogSampling(session, name, request, store).sampled_session()


class _LogSampling:
    """Makes the samples of a log from its token ids."""

    def __init__(self, session: Session, name: str, request: SampleRequest, store: TokenStore) -> None:
        self._session, self._name, self._request, self._store = session, name, request, store
        self._selection: Selection = select_replies(session, name, request.options)
        self._paths: dict[int, tuple[Reply, LogPath]] = self._selection.reply_paths()
        self._sampling = Sampling(request, lambda longer, shorter: False)  # noqa: ARG005 - ids decide instead
        self._sampling.canon = self._selection.trees.requests.canon
        self._excluded: Counter[str] = Counter()

    def sampled_session(self) -> SampledSession:
        """Return the samples with the outcomes of all replies and the findings."""
        for number in self._selection.with_sample(self._paths):
            if key_of(self._paths[number][0]) not in self._store:
                self._exclude(number, NO_TOKEN_IDS)
        chains = join((reply for reply, _ in self._paths.values()), self._store)
        samples = sorted(self._samples(chains), key=lambda sample: (sample.line, sample.key))
        records = [self._record(sample, at, len(samples)) for at, sample in enumerate(samples, start=1)]
        pairs = [*zip(samples, records, strict=True)]
        written, why, findings, coverage = of_samples(self._session, self._name, self._selection, self._sampling, pairs)
        breaks, break_findings = self._named_breaks(chains.breaks)
        findings += [*self._findings(), *break_findings]
        return written, why, findings, coverage._replace(breaks=breaks)

    # Samples

    def _samples(self, chains: TokenChains) -> Iterator[Sample]:
        planned = [*map(self._fit, chains.samples(self._selection.with_sample(self._paths)))]
        drafts = dict(self._drafts(chain.end for chain in planned))
        private: list[TokenChain] = []
        for chain in planned:
            sample = drafts[chain.end]
            if sample is None:
                self._reject(chain)
            elif _has_replacement(sample.draft.record):
                private.append(chain)
            else:
                yield self._complete(sample, chain)
        yield from self._without_private(private)

    def _fit(self, chain: TokenChain) -> TokenChain:
        """Shorten a chain that is longer than ``--max-tokens``, if requested and possible."""
        options = self._request.options
        most = options.max_tokens
        if most is None or options.too_long != "cut":
            return chain
        shorter, rest = shorten(chain, lambda number: self._size(number) <= most)
        if shorter is None:
            return chain  # filtered as a whole
        for number in rest:
            self._exclude(number, _CUT)
        return shorter

    def _without_private(self, chains: list[TokenChain]) -> Iterator[Sample]:
        """Yield samples of the replies before the first text that would be replaced, because ids cannot be changed."""
        chain_of = {number: at for at, chain in enumerate(chains) for number in chain.trained[:-1]}
        last: dict[int, Sample] = {}
        stopped: set[int] = set()
        for number, sample in self._drafts(chain_of, stopped, chain_of):
            if sample is None or _has_replacement(sample.draft.record):
                stopped.add(chain_of[number])
            else:
                last[chain_of[number]] = sample
        for at, chain in enumerate(chains):
            end = last[at].key if at in last else None
            count = chain.trained.index(end) + 1 if end is not None else 0
            for number in chain.trained[count:]:
                self._exclude(number, PRIVATE)
            if end is not None:
                yield self._complete(last[at], TokenChain(end, chain.trained[:count]))

    def _drafts(
        self,
        numbers: Iterator[int] | dict[int, int],
        stopped: set[int] | None = None,
        groups: dict[int, int] | None = None,
    ) -> Iterator[tuple[int, Sample | None]]:
        """Yield a sample for each reply, in the order of the lines; skip the replies of stopped groups."""
        for reply, entry in entries_of(
            [self._paths[number][0] for number in numbers], self._session, self._request.reread
        ):
            if stopped and groups and groups[reply.number] in stopped:
                continue
            conversation = self._selection.ids[id(self._paths[reply.number][1])]
            yield reply.number, self._sampling.attempt(reply.number, conversation, snapshot_of(reply.path(), entry))

    def _complete(self, sample: Sample, chain: TokenChain) -> Sample:
        """Return a sample that trains on all replies of its chain."""
        reply, path = self._paths[sample.key]
        placement = place_replies(path, reply.path(), sample.messages, self._sampling.canon)
        own = sample.trained[0]
        replies = self._selection.trees.replies
        for number in chain.trained[:-1]:
            position = placement.positions.get(number)
            span = sample.draft.span(position.ordinal) if position else None
            if position and span:
                sample.trained.append(TrainedReply(number, position.ordinal, span, replies[number].model))
        assert own.key == chain.end
        return sample

    def _record(self, sample: Sample, number: int, count: int) -> Record:
        """Return the record of a sample, whose row replaces its messages once they are searched."""
        ids = self._store.sequence(key_of(self._paths[sample.key][0]))
        spans = (self._span(each.key) for each in sorted(sample.trained, key=lambda each: each.ordinal))
        rerendering = self._request.rerendering
        record = replace(
            sample.draft.record,
            row=token_row(ids, spans),
            marks=self._sampling.marks(sample),
            conversation=sample.conversation,
            sample=number,
            samples=count,
            trained=len(sample.trained),
            tokens=len(ids) // ID_SIZE,
            is_rerendered=rerendering.is_same(sample.draft.record.line, ids) if rerendering else None,
        )
        return in_conversation(record, self._paths[sample.key][1], self._selection.ids)

    def _span(self, number: int) -> TrainedSpan:
        stored = self._store.get(key_of(self._paths[number][0]))
        return TrainedSpan(stored.prompt // ID_SIZE, stored.size // ID_SIZE, stored.logprobs)

    def _size(self, number: int) -> int:
        return self._store.get(key_of(self._paths[number][0])).size // ID_SIZE

    # Exclusions and findings

    def _exclude(self, number: int, why: str) -> None:
        self._selection.exclusion_reasons[number] = why
        self._excluded[why] += 1

    def _reject(self, chain: TokenChain) -> None:
        """Count all replies of a chain as rejected if its last one is."""
        why = next(why for why, key, _ in self._sampling.rejections if key == chain.end)
        for number in chain.trained[:-1]:
            self._sampling.rejections.append((why, number, self._selection.ids[id(self._paths[number][1])]))

    def _findings(self) -> Iterator[LineFinding]:
        last = self._session.snapshot.entry.line if self._session.snapshot else None
        if count := self._excluded[NO_TOKEN_IDS]:
            yield last, checks.token_ids_missing(count)
        if count := self._excluded[PRIVATE]:
            yield last, checks.private_tokens(count)

    def _named_breaks(self, breaks: list[Break]) -> tuple[dict[str, int], list[LineFinding]]:
        """Return the number of breaks by reason, with a finding for each reason."""
        lines: dict[str, list[int]] = {}
        for later, why in self._reasons(breaks):
            lines.setdefault(why, []).append(later.line)
        counts = {why: len(lines[why]) for why in sorted(lines)}
        return counts, [(min(lines[why]), checks.token_break(why, count)) for why, count in counts.items()]

    def _reasons(self, breaks: list[Break]) -> Iterator[tuple[Reply, str]]:
        """Yield the later reply of each break with the reason."""
        replies = {reply.number: reply for each in breaks for reply in each}
        uses = Counter(reply.number for each in breaks for reply in each)
        by_later = {each.later.number: each.earlier for each in breaks}
        waiting: dict[int, list[Reply]] = {}
        for each in breaks:
            waiting.setdefault(each.earlier.number, []).append(each.later)
        entries: dict[int, Entry] = {}
        for reply, entry in entries_of(replies.values(), self._session, self._request.reread):
            entries[reply.number] = entry
            ready = [each for each in (reply, *waiting.get(reply.number, ())) if each.number in by_later]
            for later in ready:
                earlier = by_later[later.number]
                if not {later.number, earlier.number} <= entries.keys():
                    continue
                del by_later[later.number]
                yield later, self._reason(earlier, later, entries)
                uses.subtract((later.number, earlier.number))
            # Entries refer to all messages of their requests, so few of them stay in memory.
            for number in [number for number in entries if not uses[number]]:
                del entries[number]

    def _reason(self, earlier: Reply, later: Reply, entries: dict[int, Entry]) -> str:
        between: list[Reply] = []
        for each in later.back():
            if each.number == earlier.number:
                break
            between.append(each)
        else:
            between = [later]  # a request that repeats an earlier reply in another conversation
        one, other = (self._sequence(each, entries[each.number]) for each in (earlier, later))
        return name_break(one, other, between, self._request.tokenizer)

    def _sequence(self, reply: Reply, entry: Entry) -> LoggedSequence:
        key = key_of(reply)
        model = self._selection.trees.replies[reply.number].model
        return LoggedSequence(reply, entry, self._store.sequence(key), self._store.get(key).prompt, model)


def _has_replacement(record: Record) -> bool:
    """Return whether any text of a record was replaced by a pseudonym or a placeholder."""
    return bool(record.addresses or record.replaced_secrets)
