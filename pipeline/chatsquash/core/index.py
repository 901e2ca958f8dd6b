"""A dictionary of numbers and a list of names that take less memory than those of Python."""

from __future__ import annotations

from array import array

_FIRST = 1 << 10
_MASK = (1 << 64) - 1


class Index:
    """Numbers of 64 bits to numbers of 32 bits, by open addressing; 0 is no key."""

    def __init__(self) -> None:
        self._keys = array("Q", bytes(8 * _FIRST))
        self._values = array("I", bytes(4 * _FIRST))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: int) -> int | None:
        """The number of a key, if it has one."""
        at = self._find(key & _MASK)
        return self._values[at] if self._keys[at] else None

    def put(self, key: int, value: int) -> int | None:
        """Give a key its number, in the place of the one that it had, if any, which is given back."""
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
        """Where a key stands, or would."""
        keys = self._keys
        size = len(keys)
        at = (key * 0x9E3779B97F4A7C15 >> 20) % size
        while (there := keys[at]) and there != key:
            at = at + 1 if at + 1 < size else 0
        return at

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        size = len(keys) + len(keys) // 2
        self._keys = array("Q", bytes(8 * size))
        self._values = array("I", bytes(4 * size))
        for key, value in zip(keys, values, strict=True):
            if key:
                at = self._find(key)
                self._keys[at], self._values[at] = key, value


class Sets:
    """Numbers from 0 on in sets that are joined."""

    def __init__(self) -> None:
        self._above = array("I")

    def __len__(self) -> int:
        return len(self._above)

    def add(self) -> int:
        """A number in a set of its own."""
        self._above.append(len(self._above))
        return len(self._above) - 1

    def find(self, number: int) -> int:
        """The smallest number of the set that holds one."""
        above = self._above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    def join(self, one: int, other: int) -> None:
        """Make one set of those that hold two numbers."""
        low, high = sorted((self.find(one), self.find(other)))
        self._above[high] = low


class Names:
    """Names by number, as bytes: texts would take twice the memory."""

    def __init__(self) -> None:
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
