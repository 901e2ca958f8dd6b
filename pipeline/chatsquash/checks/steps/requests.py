"""Compare what the user wrote in two turns: the same request, apart from spelling and words such as "please"."""

from __future__ import annotations

from unicodedata import normalize

from chatsquash.core.lazy import lazy_compile

_CLAUSE = lazy_compile(r"(?<![.!?;:,])[.!?;:,]++(?=\s|\Z)|\n|\s[-\u2013\u2014]\s")
_WORD = lazy_compile(r"\w[^\s]*\w|\w")
_ACCENTS = lazy_compile(r"[\u0300-\u036f]+")
_LONGEST = 20_000
"""The maximum length of a request in characters; longer ones are only compared as a whole."""


def without_accents(text: str) -> str:
    """Return a text in lower case without accents, which users often omit."""
    if text.isascii():
        return text.lower()
    decomposed = normalize("NFKD", text.casefold().replace("\u2019", "'"))
    return normalize("NFC", _ACCENTS.sub("", decomposed))


def _words_in(text: str) -> frozenset[str]:
    return frozenset(without_accents(text).split())


_FILLERS = _words_in(
    """a an the please pls plz again now still just really ok okay so well hey hi hello and but i i'm im we you
    your it its it's this that that's these those is are was were be been to of for as me my can could would
    will do does did done doesn't didn't isn't wasn't hasn't haven't work working works asked said say want
    wanted need meant mean what once more time try one another retry repeat yet properly correctly actually
    kindly no nope not bitte noch nochmal mal einmal doch jetzt endlich also wirklich richtig ich du habe gesagt
    wie das ist s'il te vous plait plaît svp stp encore donc alors bien vraiment maintenant je tu j'ai dit
    demande por favor otra vez de nuevo ya pero bien ahora te he dicho pedi per favore ancora di ora bene una
    altra volta"""
)
"""Words that do not change what is requested, in several languages, without accents."""
_COMPLAINTS = _FILLERS | _words_in(
    """wrong broken ignored forgot missed failed fails failing error above previous instructions question answer
    answered nothing changed happened happens same problem issue thing exactly before already never there here
    yes request how why sorry incorrect bad stop read listen"""
)
"""Words of which complaints consist that precede or follow a repeated request."""
_ACKNOWLEDGEMENTS = _words_in(
    """yes yeah yep y ok okay sure continue go ahead on proceed next thanks thank you please do it more keep going
    with resume correct right good great perfect nice fine done stop no nope n lgtm agreed approved sounds cool
    that this the and now then hi hello hey test ja nein danke weiter mach los gut bitte genau passt oui non
    merci continuez vas y d'accord bien suite si sigue continua gracias vale bueno adelante siguiente sim nao
    obrigado prossiga seguinte avanti grazie prossimo да нет продолжай продолжить дальше спасибо хорошо далее 继续
    请继续 好 好的 是 是的 可以 谢谢 接着 下一步 下一个 对 行 続けて
    続行 はい いいえ ありがとう 次 次へ お願いします 계속 계속해 네 아니요 감사합니다 다음"""
)
"""Words of which short acknowledgements consist."""
_NEGATIONS = frozenset(["no", "not", "nope", "never", "doesn't", "didn't", "isn't", "wasn't", "hasn't", "haven't"])
_FEWEST = 2
"""The minimum number of words apart from fillers in requests that are compared word by word."""
_FEW = 5
"""The number of words up to which requests are compared word by word in any case."""
_WORDS_PER_TYPO = 4
_SHORTEST_TYPO = 5
"""The minimum length of words that may differ by a typing error."""


def is_repetition(before: str, text: str) -> bool:
    """Return whether a request is the same as the one before it, and more than an acknowledgement or a command."""
    if max(len(before), len(text)) > _LONGEST:
        return before == text
    pieces_before, pieces = {*before.lower().split()}, {*text.lower().split()}
    if len(pieces_before) > _FEW and 3 * len(pieces_before & pieces) < len(pieces_before):
        return False  # most requests have little in common, and words take longer to find
    words_before, words = _words(before), _words(text)
    if not words_before or _ACKNOWLEDGEMENTS.issuperset(words_before) or before.startswith("/"):
        return False
    if words_before == words:
        return True
    core_before, core = _core(before), _core(text)
    return len(core_before) >= _FEWEST and _is_same(core_before, core)


def _words(text: str) -> list[str]:
    return _WORD.findall(without_accents(text))


def _core(text: str) -> list[str]:
    """Return the words of a request without fillers and complaints, but with negations in the request."""
    core: list[str] = []
    for clause in _CLAUSE.split(text):
        words = _words(clause)
        if not _COMPLAINTS.issuperset(words):
            core += [word for word in words if word not in _FILLERS or word in _NEGATIONS]
    return core


def _is_same(before: list[str], words: list[str]) -> bool:
    """Return whether words are equal, apart from their beginning (``in a.py fix x``, ``fix x in a.py``) or typos."""
    if len(before) != len(words):
        return False
    if before == words or _is_rotation(before, words):
        return True
    different = [(one, two) for one, two in zip(before, words, strict=True) if one != two]
    return len(different) * _WORDS_PER_TYPO <= len(words) and all(_is_typo(one, two) for one, two in different)


def _is_rotation(before: list[str], words: list[str]) -> bool:
    separator = "\\0"
    twice = separator.join(["", *before, *before, ""])
    return separator.join(["", *words, ""]) in twice


def _is_typo(one: str, two: str) -> bool:
    """Return whether two words differ by one letter: added, removed, replaced or swapped with the next one."""
    if not (one.isalpha() and two.isalpha() and one[0] == two[0] and max(len(one), len(two)) >= _SHORTEST_TYPO):
        return False
    if abs(len(one) - len(two)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    one, two = one[start:], two[start:]
    if len(one) != len(two):
        shorter, longer = sorted((one, two), key=len)
        return longer[1:] == shorter
    return one[1:] == two[1:] or (one[:2] == two[1::-1] and one[2:] == two[2:])
