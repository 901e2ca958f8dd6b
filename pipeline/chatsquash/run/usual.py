"""Plain logs with nothing unusual, as most are: the outcome of one that was read by what is compiled."""

from __future__ import annotations

from collections.abc import Callable
from io import FileIO
from operator import lt
from typing import Any

from xxhash import xxh3_128_digest

from chatsquash import compiled, footprint
from chatsquash.chat import trace
from chatsquash.checks._columns import Calls, Columns, are_matched
from chatsquash.checks.registry import View
from chatsquash.ending import ending
from chatsquash.entries.compiled import MEMBERS, ROLES, Compiled, Told, transcribe
from chatsquash.entries.lines import fill, make_room
from chatsquash.entries.reading import PLAIN_LOG
from chatsquash.entries.tokens import of_raw
from chatsquash.jsonio import dumps, loads
from chatsquash.log import Log
from chatsquash.logged import Coverage
from chatsquash.model import Conversation, Found, Message, Reply, Tool
from chatsquash.options import Options
from chatsquash.outcome import Chosen, Outcome, Record
from chatsquash.records import presets
from chatsquash.redact.addresses import may_be_encoded
from chatsquash.redact.pseudonyms import Anonymizer, with_passwords
from chatsquash.run.told import met, told_of_cleaning
from chatsquash.sources.days import path_day
from chatsquash.sources.identity import Hashed
from chatsquash.stages.cleaning import clean_at_once, looked_at, may_drop, touched
from chatsquash.stages.plan import Plan, through
from chatsquash.stages.session import Counts, finding
from chatsquash.stages.transcribed import PlainWay
from chatsquash.times import at_once, day, stamp

_FREE = ("system", "user")
"""The roles of messages of which columns tell nothing but the role."""
_KINDS: set[type] = {str, type(None)}


def asks_for_the_usual(plan: Plan, options: Options) -> bool:
    """Whether the record is the specified one, and no stage but the usual ones works on it."""
    is_specified = options.preset == presets.DEFAULT and not options.folder and not options.only_model
    return is_specified and len(plan.logged) == 1 and len(plan.conversation) == 1 + options.anonymize


class CompiledWay:
    """Converts plain logs with nothing unusual; their messages are parsed only where a rule looks inside."""

    def __init__(self, plain: PlainWay, plan: Plan, options: Options, anonymizer: Anonymizer | None) -> None:
        self._plain = plain
        self._plan = plan
        self._sets = options.cleanups
        self._anonymizer = anonymizer
        self._module: Any = compiled.module()
        self._longest = min(plain.bounds.light, footprint.MOST // footprint.FACTOR)
        """Bytes of a line, so that what is written of it may be parsed at once."""
        self._looks = b"".join([looked_at(role, self._sets) for role in ROLES])

    def read(self, file: FileIO, hashed: Callable[[memoryview], object]) -> Compiled | None:
        """A log, of which ``hashed`` is given all bytes; ``None`` for one with anything unusual."""

        def more(buffer: bytearray, start: int, filled: int) -> tuple[bytearray, int]:
            buffer, rest = make_room(buffer, start, filled)
            return buffer, rest + fill(file, buffer, rest, hashed)

        return transcribe(self._module, more, self._longest, self._plain.room, self._looks)

    def outcome(self, found: Compiled, log: Log, hashed: Hashed) -> Outcome | None:
        """The outcome of a log; ``None``, or ``NotPlainError``, for one that is to be read in another way."""
        told, plain = found.told, self._plain
        times = at_once(told.times)
        if times is None or not all(map(lt, times, times[1:])) or len(told.roles) > plain.bounds.messages:
            return None
        if not told.session_id or told.finish_reason == "length":
            return None
        written = Written(told, found.written)
        cleaned = None if self._may_drop(written) else self._clean(written)
        made = None if cleaned is None else self._made(written, plain.union(plain.tools(found.tools)))
        if cleaned is None or made is None:
            return None
        record, facts = made
        line, count, name = told.lines[-1], len(told.lines), told.session_id
        user, before = written.first("user"), written.last("assistant", told.counts[0])
        return Outcome(
            session=name,
            records=[record],
            left_out=None,
            findings=[
                finding(each, name, log.shown, line) for each in (*told_of_cleaning(cleaned, self._sets), *facts)
            ],
            lines=count,
            account=Counts(count).account((1, count - 1, 0)),
            cleaned=cleaned,
            addresses=record.addresses,
            day=path_day(log.name) or day(times[0]),
            trace=trace(written.messages()) if any(each.severity == "error" for each in facts) else "",
            digest=hashed.hexdigest(),
            size=told.size,
            sizes=Counts(told.size).account((told.last_size, told.size - told.last_size, 0)),
            chosen=Chosen(line, stamp(times[0]), stamp(times[-1]), told.model, count),
            coverage=Coverage(count, conversations=1),
            meeting=met(name, user, before, written.reply),
            format=PLAIN_LOG.format,
            tokens=of_raw(map(bytes, told.usages)),
        )

    def _clean(self, written: Written) -> dict[str, int] | None:
        """Clean the messages, and count what each rule changed; ``None`` where messages would go."""
        roles = written.told.roles
        looks = [at for at in written.told.looks if at < len(roles) - 1]  # the last reply is not cleaned
        others = [at for at in looks if roles[at] not in _FREE]
        if touched([written.message(at) for at in others], [roles[at] for at in others], self._sets):
            return None
        free = [at for at in looks if roles[at] in _FREE]
        messages = [written.message(at) for at in free]
        if not touched(messages, [roles[at] for at in free], self._sets):
            return {}
        request = clean_at_once(messages, self._sets)  # which depend on no neighbours
        if len(request.messages) < len(free) or request.lost_any:
            return None
        both = list(zip(free, messages, request.messages, strict=True))
        if any(before.keys() != message.keys() for _, before, message in both):
            return None
        written.change({at: message for at, before, message in both if message is not before})
        return None if self._may_drop(written) else request.cleaned()

    def _may_drop(self, written: Written) -> bool:
        """Whether a rule may drop the first request, or all, which begin as it does."""
        return may_drop([written.message(at) for at in range(written.told.counts[0])], self._sets)

    def _made(self, written: Written, tools: list[Tool]) -> tuple[Record, list[Found]] | None:
        """The record, and what is found of it; ``None`` where something is unusual."""
        columns = written.columns()
        if columns is None:
            return None
        conversation = Conversation([], tools, source=PLAIN_LOG.format)
        view = View(conversation, told=(columns, written.messages, written.message))
        facts = [found for check in self._plan.checks for found in check(conversation, view)]
        parts, count = [written.json], self._anonymizer.count if self._anonymizer else 0
        if self._anonymizer:
            self._anonymizer.passwords.clear()
        asked, _ = through(self._plan.conversation, conversation)
        if self._anonymizer:
            # What is compiled tells the messages with at signs, not those with signs that are spelled as in URLs.
            signs = range(len(written.told.ends)) if may_be_encoded(written.json) else written.told.signs
            parts = self._anonymizer.written(written.json, map(written.place, signs))
            count = self._anonymizer.count - count
        line = self._plan.record(Conversation([], asked.tools, written=parts))
        facts += line.findings
        if line.data is None:
            return None
        usage, digest = self._plan.measure(view, {}), xxh3_128_digest(line.data)
        ended = ending(view, Reply(finish_reason=written.told.finish_reason))
        made = Record(line.data, usage, addresses=count, digest=digest, ending=ended)
        return with_passwords(made, self._anonymizer), facts


class Written:
    """The messages of a record as they are written, which are parsed only where somebody looks inside."""

    def __init__(self, told: Told, json: bytes) -> None:
        self.told = told
        self.json = json
        self._ends = told.ends
        self._all: list[Message] = []
        self._some: dict[int, Message] = {}

    def messages(self) -> list[Message]:
        """All of them."""
        if not self._all:
            self._all = loads(b"[%b]" % self.json)
        return self._all

    def place(self, at: int) -> tuple[int, int]:
        """Where one of them begins, and where it ends."""
        return self._ends[at - 1] + 1 if at else 0, self._ends[at]

    def message(self, at: int) -> Message:
        """One of them."""
        if at not in self._some:
            start, stop = self.place(at)
            self._some[at] = loads(self.json[start:stop])
        return self._some[at]

    @property
    def reply(self) -> Message:
        """The last one."""
        return self.message(len(self._ends) - 1)

    def change(self, changed: dict[int, Message]) -> None:
        """Put others in the places of some, which stand in order."""
        pieces, ends, done = [], list(self._ends), 0
        for at, message in changed.items():
            start, stop = self.place(at)
            spelled = dumps(message)
            pieces += [self.json[done:start], spelled]
            ends[at:] = [end + len(spelled) - (stop - start) for end in ends[at:]]
            done = stop
        self.json, self._ends, self._all = b"".join([*pieces, self.json[done:]]), ends, []
        self._some |= changed

    def first(self, role: str) -> Message | None:
        """The first one of a role in the last request."""
        roles = self.told.roles
        return self.message(roles.index(role)) if role in roles[:-1] else None

    def last(self, role: str, count: int) -> Message | None:
        """The last one of a role among so many at the beginning."""
        roles = self.told.roles[:count]
        return self.message(count - 1 - roles[::-1].index(role)) if role in roles else None

    def columns(self) -> Columns | None:
        """Their columns; ``None`` where calls share an id."""
        told = self.told
        if len(set(told.ids)) < len(told.ids):
            return None
        both = zip(told.ids, told.names, told.arguments, strict=True)
        given = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}
            for key, name, arguments in both
        ]
        calls = Calls(dict(told.calls), given, told.ids, told.names, told.arguments)
        matched = are_matched(calls, told.results, told.result_ids, len(told.roles) - 1)
        keys = {name for bit, name in enumerate(MEMBERS) if told.members >> bit & 1}
        results = told.results, told.result_texts, told.result_ids, matched
        return Columns(told.roles, _KINDS, self.reply, keys, calls, *results, may_write_calls=False)
