"""Logs that are read in the plain way: by what is compiled of it where that takes them, and in Python."""

from __future__ import annotations

from io import FileIO
from typing import TYPE_CHECKING, BinaryIO

from chatsquash import compiled
from chatsquash.entries.transcript import NotPlainError
from chatsquash.log import Log
from chatsquash.options import Options
from chatsquash.outcome import Outcome
from chatsquash.redact.pseudonyms import Anonymizer
from chatsquash.sources.identity import Hashed
from chatsquash.sources.places import is_raw
from chatsquash.stages.plan import Plan, asks_for_kinds
from chatsquash.stages.session import Session
from chatsquash.stages.transcribed import PlainWay

if TYPE_CHECKING:
    from chatsquash.run.usual import CompiledWay


class PlainLogs:
    """Reads plain logs one after the other, for what one leaves to the next; none where options need each entry."""

    def __init__(self, options: Options, plan: Plan, anonymizer: Anonymizer | None) -> None:
        self._way = PlainWay(options) if not asks_for_kinds(options) and PlainWay.fits(options) else None
        self._compiled = _compiled(self._way, options, plan, anonymizer) if self._way else None
        self._is_plain = True
        """Whether the last log that was tried was plain chat, as neighbours mostly are."""

    def read(self, file: BinaryIO, log: Log) -> tuple[Outcome | Session, Hashed] | None:
        """What the lines of a log come to, and its hash; ``None`` for any other, which stands at its beginning then."""
        if self._way is None or log.is_part or not is_raw(file):
            return None
        if not self._may_be(file):
            return None
        self._is_plain = True
        try:
            return self._outcome(file, log) or _session(self._way, file)
        except NotPlainError:
            self._is_plain = False
            file.seek(0)
            return None

    def _may_be(self, file: FileIO) -> bool:
        """Whether a log may be plain, as its first bytes tell where the one before it was none."""
        if self._is_plain:
            return True
        from chatsquash.entries.recognise import is_other  # which the log before has loaded

        return not is_other(file)

    def _outcome(self, file: FileIO, log: Log) -> tuple[Outcome, Hashed] | None:
        """The outcome of a log with nothing unusual; any other stands at its beginning then."""
        if self._compiled is None or log.pieces or log.apart or log.reordered is not None:
            return None
        hashed = Hashed()
        found = self._compiled.read(file, hashed.update)
        made = found and self._compiled.outcome(found, log, hashed)
        if made:
            return made, hashed
        file.seek(0)
        return None


def _session(way: PlainWay, file: FileIO) -> tuple[Session, Hashed]:
    hashed = Hashed()
    return way.session(way.transcribe(file, hashed.update), file), hashed


def _compiled(way: PlainWay, options: Options, plan: Plan, anonymizer: Anonymizer | None) -> CompiledWay | None:
    """The plain way as far as it is compiled, where that is at hand."""
    if not compiled.module():
        return None
    from chatsquash.run import usual  # which needs what is compiled

    if not usual.asks_for_the_usual(plan, options):
        return None
    return usual.CompiledWay(way, plan, options, anonymizer)
