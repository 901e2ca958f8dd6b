"""Turn chains of replies into samples of logged token ids, for logs and files alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from chatsquash.checks import sampling as checks
from chatsquash.core.outcome import Record
from chatsquash.core.token_ids import ID_SIZE
from chatsquash.records.token_rows import TrainedSpan, token_row
from chatsquash.session.samples import Sample, SampleRequest, Sampling, TrainedReply
from chatsquash.session.session import LineFinding
from chatsquash.session.token_chains import TokenChain, TokenChains, shorten
from chatsquash.trees.token_store import Key, TokenStore

NO_TOKEN_IDS, PRIVATE = "no-token-ids", "private-text"
"""Reasons why a reply is not trained on, in addition to those of ``trees.loss``."""
_CUT = "cut"
Draft = tuple[int, Sample | None]
"""The number of a reply with its sample; ``None`` if it was rejected."""


def take_all(number: int) -> bool:
    """Return that a reply is not skipped."""
    del number
    return False


class TokenSampling(ABC):
    """Makes samples of token ids; the numbers of replies are those of the log or file."""

    def __init__(self, request: SampleRequest, store: TokenStore) -> None:
        self.request, self.store = request, store
        self.sampling = Sampling(request, lambda longer, shorter: False)  # noqa: ARG005 - ids decide instead
        self._excluded: Counter[str] = Counter()

    @abstractmethod
    def key(self, number: int) -> Key:
        """Return the key of a reply's token ids."""

    @abstractmethod
    def drafts(self, numbers: Iterable[int], skips: Callable[[int], bool] = take_all) -> Iterator[Draft]:
        """Yield a sample for each reply, or ``None`` if it is rejected, in the order of the conversation.

        ``skips`` is called with each number when its turn comes.
        """

    @abstractmethod
    def ordinals(self, sample: Sample) -> Mapping[int, int]:
        """Return the positions of replies among the assistant messages of a sample, by number."""

    @abstractmethod
    def model(self, number: int) -> str:
        """Return the model of a reply, or an empty string."""

    @abstractmethod
    def exclude(self, number: int, why: str) -> None:
        """Exclude a reply from training."""

    def samples(self, chains: TokenChains, trained: Collection[int]) -> list[Sample]:
        """Return the samples that train on some replies, in the order of the log."""
        samples = self._samples([*map(self._fit, chains.samples(trained))])
        return sorted(samples, key=lambda sample: (sample.line, sample.key))

    def records(self, samples: list[Sample]) -> list[Record]:
        """Return the records of all samples."""
        return [self._record(sample, number, len(samples)) for number, sample in enumerate(samples, start=1)]

    def leave_out(self, number: int, why: str) -> None:
        """Exclude a reply, and count it by reason."""
        self._excluded[why] += 1
        self.exclude(number, why)

    def findings(self, line: int | None) -> Iterator[LineFinding]:
        """Yield the findings about excluded replies."""
        if count := self._excluded[NO_TOKEN_IDS]:
            yield line, checks.token_ids_missing(count)
        if count := self._excluded[PRIVATE]:
            yield line, checks.private_tokens(count)

    def _samples(self, chains: list[TokenChain]) -> Iterator[Sample]:
        drafts = dict(self.drafts([chain.end for chain in chains]))
        private: list[TokenChain] = []
        for chain in chains:
            sample = drafts.get(chain.end)
            if sample is None:
                self._reject(chain)
            elif _has_replacement(sample.draft.record):
                private.append(chain)
            else:
                yield self._complete(sample, chain)
        yield from self._without_private(private)

    def _fit(self, chain: TokenChain) -> TokenChain:
        """Shorten a chain that is longer than ``--max-tokens``, if requested and possible."""
        options = self.request.options
        most = options.max_tokens
        if most is None or options.too_long != "cut":
            return chain
        shorter, rest = shorten(chain, lambda number: self.store.get(self.key(number)).size // ID_SIZE <= most)
        if shorter is None:
            return chain  # filtered as a whole
        for number in rest:
            self.leave_out(number, _CUT)
        return shorter

    def _without_private(self, chains: list[TokenChain]) -> Iterator[Sample]:
        """Yield samples of the replies before the first text that would be replaced, because ids cannot be changed."""
        chain_of = {number: at for at, chain in enumerate(chains) for number in chain.trained[:-1]}
        last: dict[int, Sample] = {}
        ends: set[int] = set()
        # Later replies have the text in their context, so the search in a chain stops at the first one.
        for number, sample in self.drafts(chain_of, lambda each: chain_of[each] in ends):
            if sample is None or _has_replacement(sample.draft.record):
                ends.add(chain_of[number])
            else:
                last[chain_of[number]] = sample
        for at, chain in enumerate(chains):
            count = chain.trained.index(last[at].key) + 1 if at in last else 0
            for number in chain.trained[count:]:
                self.leave_out(number, PRIVATE)
            if at in last:
                yield self._complete(last[at], TokenChain(last[at].key, chain.trained[:count]))

    def _complete(self, sample: Sample, chain: TokenChain) -> Sample:
        """Return a sample that trains on all replies of its chain."""
        ordinals = self.ordinals(sample)
        for number in chain.trained[:-1]:
            span = sample.draft.span(ordinals[number]) if number in ordinals else None
            if span:
                sample.trained.append(TrainedReply(number, ordinals[number], span, self.model(number)))
        return sample

    def _reject(self, chain: TokenChain) -> None:
        """Count all replies of a chain as rejected if its last one is."""
        for why, key, conversation in [*self.sampling.rejections]:
            if key == chain.end:
                self.sampling.rejections += [(why, number, conversation) for number in chain.trained[:-1]]
                return

    def _record(self, sample: Sample, number: int, count: int) -> Record:
        """Return the record of a sample, whose row replaces its messages once they are searched."""
        ids = self.store.sequence(self.key(sample.key))
        spans = (self._span(each.key) for each in sorted(sample.trained, key=lambda each: each.ordinal))
        rerendering = self.request.rerendering
        return replace(
            sample.draft.record,
            row=token_row(ids, spans),
            marks=self.sampling.marks(sample),
            conversation=sample.conversation,
            sample=number,
            samples=count,
            trained=len(sample.trained),
            tokens=len(ids) // ID_SIZE,
            is_rerendered=rerendering.is_same(sample.draft.record.line, ids) if rerendering else None,
        )

    def _span(self, number: int) -> TrainedSpan:
        tokens = self.store.get(self.key(number))
        return TrainedSpan(tokens.prompt // ID_SIZE, tokens.size // ID_SIZE, tokens.logprobs)


def break_findings(lines: Mapping[str, list[int | None]]) -> tuple[dict[str, int], list[LineFinding]]:
    """Return the number of breaks by reason, with a finding for each; ``lines`` are those of the later replies."""
    counts = {why: len(lines[why]) for why in sorted(lines)}
    return counts, [(lines[why][0], checks.token_break(why, count)) for why, count in counts.items()]


def _has_replacement(record: Record) -> bool:
    """Return whether any text of a record was replaced by a pseudonym or a placeholder."""
    return bool(record.addresses or record.replaced_secrets)
