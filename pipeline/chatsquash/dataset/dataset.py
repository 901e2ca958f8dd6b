"""The dataset folder: files by split, a card and metadata, and a ``.gitignore`` for the files not meant for upload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import structs

from chatsquash.checks import dataset as checks
from chatsquash.core.log import Log
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Place, Record
from chatsquash.core.text import printable_json
from chatsquash.dataset.card import CARD, TRACES, card
from chatsquash.dataset.card_facts import CardFacts
from chatsquash.dataset.columns import additions
from chatsquash.dataset.croissant import CROISSANT, croissant
from chatsquash.dataset.shards import FOLDER, PAIRS, Shards
from chatsquash.dataset.splits import Splits
from chatsquash.dataset.store import RUN, Output
from chatsquash.records.media import FOLDER as IMAGES
from chatsquash.records.presets import get_preset
from chatsquash.session.session import finding

if TYPE_CHECKING:
    from chatsquash.dataset.forest_file import Origin
    from chatsquash.dataset.traces import Traces

IGNORE = ".gitignore"
INFO = "dataset_info.json"
_FILES = (CARD, CROISSANT, INFO)
_FOLDERS = (f"{FOLDER}/", f"{PAIRS}/", f"{IMAGES}/", f"{TRACES}/")
_PUBLIC = (f"/{CARD}", f"/{CROISSANT}", *(f"/{folder}" for folder in _FOLDERS), f"/{INFO}")
_PRIVATE = (".chatsquash/", IGNORE, "reports/", RUN)
"""Files not meant for upload; listed individually as well, for tools that ignore exceptions with ``!``."""


def is_public(name: str) -> bool:
    """Return whether a file under the folder is meant for upload, based on its name."""
    return name in _FILES or name.startswith(_FOLDERS)


def is_trace(name: str) -> bool:
    """Return whether a file is the trace of a record, based on its name."""
    return name.startswith(f"{TRACES}/")


def is_image(name: str) -> bool:
    """Return whether a file is an image of a record, based on its name."""
    return name.startswith(f"{IMAGES}/")


class Dataset:
    """Writes records, in order, to the files of their splits."""

    def __init__(self, options: Options, out: Output) -> None:
        self._options, self._out = options, out
        self._splits = Splits(options)
        self._origin: Origin | None = None
        if options.samples == "forest":
            from chatsquash.dataset.forest_file import Origin  # few runs need it

            self._origin = Origin()
        names = [split.name for split in self._splits.splits]
        self._shards = {name: Shards(out, options, name, origin=self._origin) for name in names}
        self._pairs: dict[str, Shards] = {}
        if options.pairs != "none":
            self._pairs = {split.name: Shards(out, options, split.name, PAIRS) for split in self._splits.splits}
        self._split = ""
        """The split of the last record."""
        self._traces: Traces | None = None
        if options.traces:
            from chatsquash.dataset.traces import Traces  # rarely needed

            self._traces = Traces(out)
        self._images: set[str] = set()
        self.findings: list[Violation] = []
        """Findings about the dataset; complete after ``finish``."""
        trainer_names = ["trainer/any"] if options.trainer else []
        # Checked now to fail before the conversion rather than after it.
        out.refuse_foreign(CARD, CROISSANT, IGNORE, INFO, f"{FOLDER}/any", *trainer_names)

    def add(self, log: Log, outcome: Outcome, record: Record) -> tuple[Outcome, Place]:
        """Write a record.

        Returns:
            The outcome, with a finding if its split leaks into another one, and the place of the record. ``final``
            returns the parts of places that are only known at the end.
        """
        main = next((each for each in outcome.records if each.kind == "main"), outcome.records[0])
        split, violation = self._splits.assign(log, outcome, main)
        self._split = split
        if self._origin:
            self._origin.set(log, outcome, record)
        place = self._shards[split].add(record.line, additions(record, self._options), record.images)
        if self._options.format != "parquet":
            self._write(record.images)
        trace_violation = self._traces.add(log, outcome, record) if self._traces else None
        for each in filter(None, (violation, trace_violation)):
            outcome = outcome.with_finding(finding(each, outcome.session, log.display_path))
        return outcome, place

    def add_pairs(self, outcome: Outcome) -> None:
        """Write the pairs of a session to the split of its records, which must have been written immediately before."""
        for pair in outcome.output.pairs if outcome.records else ():
            self._pairs[self._split].add(pair.line, {}, {})

    def final(self) -> dict[str, str]:
        """Return the placeholders in places, with their replacements once the dataset is finished."""
        return dict(shards.final() for shards in self._shards.values())

    def _write(self, images: Mapping[str, bytes]) -> None:
        """Write the images that no earlier record contained."""
        for name in images.keys() - self._images:
            self._out.write(name, images[name], lines=0)
            self._images.add(name)

    def finish(self) -> list[str]:
        """Close the data files and write the files next to them; return the names of the record files."""
        files = {name: shards.close() for name, shards in self._shards.items()}
        pair_files = [name for pairs in self._pairs.values() for name in pairs.close()]
        records = sum(shards.records for shards in self._shards.values())
        self.findings += [checks.empty_split(name, records) for name, names in files.items() if records and not names]
        self.findings += self._splits.missed_shares()
        public = f"{CARD}, {CROISSANT}, {FOLDER}/, {PAIRS}/, {IMAGES}/, {TRACES}/ and {INFO}"
        comment = f"# Only {public} are meant for upload."
        private = [*_PRIVATE, *(["trainer/"] if self._options.trainer else [])]
        self._out.write(IGNORE, "\n".join([comment, "/*", *(f"!{name}" for name in _PUBLIC), *private, ""]).encode())
        record_files = [name for names in files.values() for name in names]
        if make := get_preset(self._options.preset).extra_files:  # for the trainers of the preset
            for name, data in make(record_files, {name: names for name, names in files.items() if names}).items():
                self._out.write(name, data)
        if self._options.trainer:
            from chatsquash.dataset import trainers  # rarely needed

            for name, data in trainers.write(self._options, files, has_pairs=bool(pair_files)).items():
                self._out.write(name, data)
        return record_files

    def shares(self) -> dict[str, tuple[int, float]]:
        """Return the number of records and the requested share of each split; empty unless ``--split`` is used."""
        if self._options.split is None:
            return {}
        return {split.name: (self._shards[split.name].records, split.share) for split in self._splits.splits}

    def describe(self, facts: CardFacts) -> None:
        """Write the card and the Croissant metadata, from the facts of the complete run."""
        splits = {name: shards for name, shards in self._shards.items() if shards.records}
        pairs = {name: shards for name, shards in self._pairs.items() if shards.records}
        facts = structs.replace(facts, splits=splits, pairs=pairs)
        self._out.write(CARD, card(facts).encode())
        files = [each for each in self._out.staged_files() if each.name.startswith((f"{FOLDER}/", f"{PAIRS}/"))]
        content = croissant(files, facts)
        self._out.write(CROISSANT, printable_json(content, indent=True) + b"\n")
