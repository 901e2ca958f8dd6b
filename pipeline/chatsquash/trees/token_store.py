"""Keep the token ids of replies in memory that grows with the distinct ids, not with the repeated prompts."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from msgspec import Struct, field

from chatsquash.core.token_ids import TokenIds, common_prefix

Key = tuple[int, int]
"""The line of a reply and the index of its choice."""
_RECENT = 8
"""The number of previous sequences that a new one is compared with; more conversations are rarely interleaved."""


class StoredTokens(NamedTuple):
    """The ids of a prompt and its reply: the beginning of another sequence, and the rest."""

    base: Key | None
    common: int
    """The number of bytes that are the same as in ``base``."""
    rest: bytes
    prompt: int
    """The size of the prompt in bytes."""
    logprobs: bytes | None

    @property
    def size(self) -> int:
        """The size of the prompt and the reply in bytes."""
        return self.common + len(self.rest)


class TokenStore(Struct):
    """The token ids of the replies of a session."""

    _tokens: dict[Key, StoredTokens] = field(default_factory=dict)
    _recent: deque[tuple[Key, bytes]] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def __contains__(self, key: Key) -> bool:
        """Return whether the ids of a reply are known."""
        return key in self._tokens

    def add(self, key: Key, ids: TokenIds) -> None:
        """Add the ids of a reply."""
        sequence = ids.sequence()
        base, common, continued = None, 0, None
        for other, known in self._recent:
            if common < len(known) and sequence.startswith(known):
                base, common, continued = other, len(known), other
            elif continued is None and (size := common_prefix(sequence, known)) > common:
                base, common = other, size
        self._tokens[key] = StoredTokens(
            base, common, sequence[common:], len(sequence) - len(ids.completion), ids.logprobs
        )
        # A sequence that is the beginning of the new one is not needed for comparisons any more.
        if continued is not None and continued != key:
            self._recent.remove(next(each for each in self._recent if each[0] == continued))
        self._recent.append((key, sequence))

    def add_after(self, key: Key, ids: TokenIds, before: Key) -> None:
        """Add the ids of a reply whose prompt continues an earlier reply, as in ``TokenIds.before``."""
        size = self._tokens[before].size
        self._tokens[key] = StoredTokens(
            before, size, ids.prompt + ids.completion, size + len(ids.prompt), ids.logprobs
        )

    def get(self, key: Key) -> StoredTokens:
        """Return the stored ids of a reply."""
        return self._tokens[key]

    def continues(self, key: Key, earlier: Key) -> bool:
        """Return whether the prompt of a reply begins with the prompt and the text of an earlier one, id by id."""
        tokens, known = self._tokens[key], self._tokens[earlier]
        if known.size > tokens.prompt:
            return False
        if tokens.base == earlier:
            return tokens.common >= known.size
        return self.sequence(key).startswith(self.sequence(earlier))

    def sequence(self, key: Key) -> bytes:
        """Return the packed ids of a prompt and its reply."""
        pieces: list[bytes] = []
        tokens: StoredTokens | None = self._tokens[key]
        end = tokens.size if tokens else 0
        while tokens is not None:
            if end > tokens.common:
                pieces.append(tokens.rest[: end - tokens.common])
                end = tokens.common
            tokens = self._tokens[tokens.base] if tokens.base is not None else None
        return b"".join(reversed(pieces))
