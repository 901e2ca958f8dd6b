"""Compact collections for millions of items: a dictionary of integers, disjoint sets and a list of names."""

from __future__ import annotations

from array import array

_FIRST = 1 << 10
_MASK = (1 << 64) - 1


class Index:
    """A map from 64-bit to 32-bit integers with open addressing; 0 cannot be a key."""

    def __init__(self) -> None:
        self._keys = array("Q", bytes(8 * _FIRST))
        self._values = array("I", bytes(4 * _FIRST))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: int) -> int | None:
        """Return the value of a key, or ``None``."""
        at = self._find(key & _MASK)
        return self._values[at] if self._keys[at] else None

    def put(self, key: int, value: int) -> int | None:
        """Set the value of a key and return the previous value, or ``None``."""
        masked_key = key & _MASK
        at = self._find(masked_key)
        if self._keys[at]:
            before = self._values[at]
            self._values[at] = value
            return before
        if 3 * self._count > 2 * len(self._keys):
            self._grow()
            at = self._find(masked_key)
        self._keys[at], self._values[at] = masked_key, value
        self._count += 1
        return None

    def _find(self, key: int) -> int:
        """Return the slot of a key, or the empty slot in which it belongs."""
        keys = self._keys
        size = len(keys)
        # The multiplier, from the golden ratio, spreads keys that are close to each other.
        at = (key * 0x9E3779B97F4A7C15 >> 20) % size
        while (there := keys[at]) and there != key:
            at = at + 1 if at + 1 < size else 0
        return at

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        size = 2 * len(keys)
        self._keys = array("Q", bytes(8 * size))
        self._values = array("I", bytes(4 * size))
        for key, value in zip(keys, values, strict=True):
            if key:
                at = self._find(key)
                self._keys[at], self._values[at] = key, value


class Sets:
    """Disjoint sets of consecutive integers from 0 (union-find)."""

    def __init__(self) -> None:
        self._above = array("I")

    def __len__(self) -> int:
        return len(self._above)

    def add(self) -> int:
        """Add the next number as a new set and return it."""
        self._above.append(len(self._above))
        return len(self._above) - 1

    def find(self, number: int) -> int:
        """Return the smallest number in the set of a number."""
        above = self._above
        while above[number] != number:
            above[number] = above[above[number]]  # path halving
            number = above[number]
        return number

    def join(self, one: int, other: int) -> None:
        """Merge the sets of two numbers."""
        low, high = sorted((self.find(one), self.find(other)))
        self._above[high] = low


class Names:
    """Names by number."""

    def __init__(self) -> None:
        # Strings would take twice the memory.
        self._bytes = bytearray()
        self._ends = array("Q")

    def append(self, name: str) -> None:
        """Add a name."""
        self._bytes += name.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> str:
        start = self._ends[number - 1] if number else 0
        return self._bytes[start : self._ends[number]].decode("utf-8", "surrogatepass")
