"""Make samples of the token ids in files of agents, such as trajectories and rollouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import structs

from chatsquash.core.model import Violation
from chatsquash.core.token_ids import TokenIds
from chatsquash.session.agents import DocumentPart
from chatsquash.session.sample_documents import SampledPart, document_outcome
from chatsquash.session.sample_records import SampledSession
from chatsquash.session.samples import Sample, SampleRequest, Sampling, truncate_snapshot
from chatsquash.session.session import Snapshot
from chatsquash.session.token_breaks import LoggedSequence, name_break
from chatsquash.session.token_chains import TokenChains
from chatsquash.session.token_sampling import NO_TOKEN_IDS, Draft, TokenSampling, break_findings, take_all
from chatsquash.trees.account import Placement
from chatsquash.trees.documents import FilePath, FileReply
from chatsquash.trees.loss import OTHER_MODEL
from chatsquash.trees.token_store import Key, TokenStore


def of_document(
    part: DocumentPart, snapshot: Snapshot | None, request: SampleRequest, why: Violation | None
) -> SampledSession:
    """Make the samples of a conversation in an agent's file."""
    part.find_steps()
    placement = part.placement(snapshot)
    if not part.is_selected or snapshot is None or placement is None or why is not None:
        return document_outcome(part, snapshot, SampledPart(Sampling(request, lambda *_: False)), why)
    return _DocumentSampling(part, snapshot, request, placement).sampled_session()


class _DocumentSampling(TokenSampling):
    """Makes the samples of a conversation; the number of a reply is the index of its message."""

    def __init__(
        self, part: DocumentPart, snapshot: Snapshot, request: SampleRequest, placement: Placement[FilePath]
    ) -> None:
        super().__init__(request, TokenStore())
        self._part, self._snapshot, self._placement = part, snapshot, placement
        replies = {reply.number: reply for reply in part.place.replies}
        places = sorted((position.ordinal, number) for number, position in placement.positions.items())
        self._replies: dict[int, FileReply] = {placement.assistants[at]: replies[number] for at, number in places}
        self._untrained: dict[int, str] = {}

    def sampled_session(self) -> SampledSession:
        """Return the samples with the outcomes of all replies and the findings."""
        for at, mark in zip(self._placement.assistants, self._part.marks(self._snapshot, self._placement), strict=True):
            self.sampling.unknown_models += mark.why == OTHER_MODEL and not mark.model
            if mark.why:
                self.exclude(at, mark.why)
        chains, lines = self._join()
        for at in [at for at in self._replies if at not in self._untrained and self.key(at) not in self.store]:
            self.leave_out(at, NO_TOKEN_IDS)
        trained = [at for at in self._replies if at not in self._untrained]
        samples = self.samples(chains, trained)
        pairs = [*zip(samples, self.records(samples), strict=True)]
        sampled_part = SampledPart(self.sampling, pairs, self._untrained)
        records, why, findings, coverage = document_outcome(self._part, self._snapshot, sampled_part, None)
        breaks, more = break_findings(lines)
        findings = [*findings, *self.findings(self._snapshot.entry.line), *more]
        return records, why, findings, structs.replace(coverage, breaks=breaks)

    def key(self, number: int) -> Key:
        """Return the key of a reply's token ids."""
        return number, 0

    def drafts(self, numbers: Iterable[int], skips: Callable[[int], bool] = take_all) -> Iterator[Draft]:
        """Yield a sample for each reply."""
        conversation, _ = self._part.names(self._part.place)
        for at in sorted(numbers):
            if not skips(at):
                snapshot = truncate_snapshot(self._snapshot, self._snapshot.entry.messages[: at + 1])
                yield at, self.sampling.attempt(at, conversation, snapshot)

    def ordinals(self, sample: Sample) -> Mapping[int, int]:
        """Return the positions of all replies, which do not depend on the sample."""
        del sample
        return {at: ordinal for ordinal, at in enumerate(self._placement.assistants)}

    def model(self, number: int) -> str:
        """Return the model of a reply."""
        return self._replies[number].evidence.model or ""

    def exclude(self, number: int, why: str) -> None:
        """Exclude a reply from training."""
        self._untrained[number] = why

    def _join(self) -> tuple[TokenChains, dict[str, list[int | None]]]:
        """Join each reply with the one before it; return the breaks as the lines of the later reply, by reason."""
        chains, lines = TokenChains(), dict[str, list[int | None]]()
        earlier: tuple[int, TokenIds] | None = None
        for at, reply in self._replies.items():
            ids = reply.evidence.token_ids
            if ids is None:
                continue
            if earlier and ids.before is earlier[1]:
                self.store.add_after(self.key(at), ids, self.key(earlier[0]))
            else:
                self.store.add(self.key(at), ids)
            if earlier and self.store.continues(self.key(at), self.key(earlier[0])):
                chains.before[at] = earlier[0]
            elif earlier:
                # The file has one version of each message, so changes by the client are not known.
                sequences = self._sequence(earlier[0]), self._sequence(at)
                reason = name_break(*sequences, "unknown", self.request.tokenizer)
                lines.setdefault(reason, []).append(reply.evidence.line)
            earlier = at, ids
        return chains, lines

    def _sequence(self, at: int) -> LoggedSequence:
        tokens, messages = self.store.get(self.key(at)), self._snapshot.entry.messages
        return LoggedSequence(
            self.store.sequence(self.key(at)), tokens.prompt, self.model(at), messages[max(at - 1, 0) : at + 1]
        )
