"""What simulated people and models say: words drawn by chance, so that runs of five words hardly ever repeat."""

from __future__ import annotations

from math import exp, log
from pathlib import Path
from random import Random

_WORDS = (Path(__file__).parent / "words.txt").read_text("utf-8").split()
_SHORT = ("yes", "ok", "continue", "Go on.", "Done.", "no", "Yes, please.", "thanks", "try again", "Looks good.")


class Words:
    """Texts of a seeded session."""

    def __init__(self, rng: Random):
        self.rng = rng

    def text(self, least: int = 30, most: int = 2000) -> str:
        """Sentences of so many characters; short texts are the more frequent ones."""
        size = exp(self.rng.uniform(log(least), log(most)))
        said = " ".join(self.sentence() for _ in range(1 + int(size / 80)))
        if size > 300 and self.rng.random() < 0.5:
            middle = said.index(" ", len(said) // 2)
            said = f"{said[:middle]}\n\n{said[middle + 1 :]}"
        return said[: int(size)].strip() if size < len(said) else said

    def sentence(self) -> str:
        """Some words, and a number that is hardly ever the same."""
        said = self.rng.choices(_WORDS, k=self.rng.randint(6, 13))
        return f"{' '.join(said).capitalize()} {self.rng.randrange(10**6)}."

    def word(self) -> str:
        """One word."""
        return self.rng.choice(_WORDS)

    def short(self) -> str:
        """What is said again and again."""
        return self.rng.choice(_SHORT)

    def altered(self, text: str) -> str:
        """A text as somebody edits it: some of its words are others, and something is added."""
        kept = [self.word() if self.rng.random() < 0.4 else word for word in text.split(" ")]
        return f"{' '.join(kept)} {self.sentence()}"

    def key(self, length: int = 12) -> str:
        """An id's letters and digits."""
        return f"{self.rng.getrandbits(4 * length):0{length}x}"
