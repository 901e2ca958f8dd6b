"""What simulated people and models say: words drawn by chance, so that runs of five words hardly ever repeat."""

from __future__ import annotations

from math import exp, log
from random import Random

_WORDS = """
    account address agent allow amount answer apply archive argument array arrive balance barrel basin batch beacon
    before bench between bicycle binary border bottle branch bridge bright broken bucket budget buffer builder button
    cabin calendar candle canvas carbon carpet castle cattle central chapter charge chimney circle client climate clock
    cluster coast coffee column comfort commit compass compiler concert config copper corner cotton counter courier
    cradle credit crystal cursor curtain customer cycle daemon dairy damage danger deadline decade default delta
    deposit desert detail device digest dinner director distance doctor dollar domain double dragon drawer driver early
    eastern editor effort eleven engine entry error escape estate evening event exact exchange export fabric factor
    falcon farmer feather fiction field figure filter finger fitting flavour floor forest format fortune frame freight
    frozen furnace future galaxy garden gather general gentle glacier global golden grammar granite gravel guard guest
    guitar hammer handle harbour harvest header heavy helmet hidden history hollow honest horizon hotel hunter iceberg
    image import index inner insect invoice island ivory jacket journal journey juice jungle kernel kettle keyboard
    kitchen ladder lantern lattice lawyer leader leather legend lemon level library light linen liquid listen locket
    lumber machine magnet manual maple marble margin market mason matrix meadow measure memory merchant metal method
    middle migrate mineral mirror mission module moment monitor morning motor mountain museum narrow nation needle
    nephew network nickel normal notice number object ocean office olive onion option orange orbit orchard order origin
    outer oven oxygen packet paddle palace panel paper parser partner passage pasture patch patient pattern payment
    pencil pepper permit phrase piano pilot pioneer planet plaster pocket poetry police portal pottery powder prairie
    prefix present printer prison process profile project prompt protein public purple quarter query quiet rabbit radio
    railway random ranger rapid reader reason recent record refund region release render repair report request reserve
    result retry return ribbon river rocket roller rough router rubber saddle sailor sample saturn scale scarlet schema
    school science script season second secret select sender series server session shadow shelter shipping signal
    silver simple single sister sketch socket solar source spider spiral spring square stable station status steady
    stone storage stream street string studio sugar summer surface switch symbol system table tailor target teacher
    temple tenant thread thunder ticket timber timeout token tomato topic torch tower tractor traffic travel treaty
    triangle tunnel turbine twelve twenty uncle update upper useful valley value vector velvet vendor vessel village
    violet vision volume wagon waiter walnut warehouse warrior water weather wedding western whisper widget willow
    window winter wisdom wonder wooden worker yellow zebra zone
""".split()
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
