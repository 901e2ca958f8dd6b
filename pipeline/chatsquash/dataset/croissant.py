"""Croissant metadata of a dataset: its files, and facts for responsible use (the RAI vocabulary).

Croissant has no type for columns of JSON objects, so there are no record sets. Licence, creator and version are missing
because only the publisher knows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from chatsquash.core.model import Json
from chatsquash.core.text import escape, pluralize
from chatsquash.core.version import __version__
from chatsquash.dataset.card_facts import TRUNCATED, UNKNOWN_END, CardFacts, Statistics
from chatsquash.dataset.store import StagedFile

CROISSANT = "croissant.json"
_MAX_NAMES = 20
_CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
_CONTEXT: dict[str, Json] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{term: f"cr:{term}" for term in _TERMS},
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
"""The context that Croissant 1.0 requires verbatim."""
_ENCODINGS = {
    ".jsonl": "application/jsonlines",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
    ".parquet": "application/x-parquet",
}


def croissant(files: Iterable[StagedFile], facts: CardFacts) -> dict[str, Json]:
    """Return the metadata of a dataset, given its files and the facts of its card."""
    records = pluralize(facts.records, "record")
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": "conversations",
        "description": f"{records}, converted by chatsquash {__version__} from session logs.",
        "conformsTo": [*_CONFORMS],
        "distribution": [_file(each) for each in files],
        **dict(_responsible(facts)),
    }


def _file(file: StagedFile) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": file.name,
        "contentSize": f"{file.size} B",
        "encodingFormat": _ENCODINGS[file.name[file.name.rindex(".") :]],
        "sha256": file.digest.hexdigest(),
    }


def _responsible(facts: CardFacts) -> Iterator[tuple[str, Json]]:
    statistics, counts = facts.statistics, facts.counts
    sources = _parts(dict(statistics.sources.most_common()))
    yield "rai:dataCollection", f"Sessions between people or agents and language models, by log format: {sources}."
    yield "rai:dataCollectionType", ["Software Collection"]
    if statistics.days:
        yield "rai:dataCollectionTimeFrame", statistics.days
    if missing := [*_missing(counts)]:
        yield "rai:dataCollectionMissingData", " ".join(missing)
    yield "rai:dataPreprocessingProtocol", [*_preprocessing(counts)]
    yield "rai:personalSensitiveInformation", [*_private(counts, anonymized=facts.anonymized)]
    lengths = Counter({escape(name) or "unnamed": each.length for name, each in facts.models.items() if each.records})
    if lengths:
        models = dict(lengths.most_common())
        yield "rai:dataBiases", [f"Models that wrote the messages to train on, by {statistics.unit}: {_parts(models)}."]
    yield "rai:dataLimitations", [*_limits(statistics)]
    yield "rai:dataUseCases", ["Fine-tuning of language models on conversations."]


def _missing(counts: Mapping[str, Any]) -> Iterator[str]:
    lost_replies, unreadable = counts["replies"]["lost"], counts["lines"]["unreadable"]
    if lost_replies:
        replies = pluralize(counts["replies"]["logged"], "logged reply", "logged replies")
        yield f"{sum(lost_replies.values()):,} of {replies} are not in any record ({_parts(lost_replies)})."
    if unreadable:
        yield f"{pluralize(unreadable, 'line')} could not be read."


def _preprocessing(counts: Mapping[str, Any]) -> Iterator[str]:
    sessions = counts["sessions"]
    others = {**sessions["left_out"], **sessions["filtered"]}
    yield f"{sessions['written']:,} of {pluralize(sessions['seen'], 'session')} became records."
    if others:
        yield f"Skipped or filtered: {_parts(others)}."
    if sessions["duplicates"]:
        yield f"Duplicates removed: {sessions['duplicates']:,}."
    if counts["cleaned"]:
        cleaning = {rule.replace("_", " "): count for rule, count in counts["cleaned"].items()}
        yield f"Cleaned: {_parts(cleaning)}."


def _private(counts: Mapping[str, Any], *, anonymized: bool) -> Iterator[str]:
    addresses, secrets = pluralize(counts["addresses"], "e-mail address", "e-mail addresses"), counts["secrets"]
    yield f"{addresses} replaced by pseudonyms." if anonymized else "E-mail addresses were not replaced."
    if secrets["found"]:
        number = pluralize(secrets["found"], "secret")
        yield f"{number} detected in {pluralize(secrets['records'], 'record')}, {secrets['replaced']:,} replaced."
    if counts["private"]:
        yield f"Also replaced: {_parts(counts['private'])}."
    yield "Detectors do not find everything."


def _limits(statistics: Statistics) -> Iterator[str]:
    records = len(statistics.turns)
    unknown, truncated = (statistics.records_with[name] for name in (UNKNOWN_END, TRUNCATED))
    yield f"{truncated:,} of {pluralize(records - unknown, 'record')} with a known end have a truncated last reply."
    if unknown:
        yield f"{pluralize(unknown, 'record')} with an unknown end."


def _parts(counts: Mapping[str, int]) -> str:
    """Format counts by name, up to a maximum number."""
    parts = [f"{name} {count:,}" for name, count in [*counts.items()][:_MAX_NAMES]]
    more = [f"{len(counts) - _MAX_NAMES:,} more"] if len(counts) > _MAX_NAMES else []
    return ", ".join([*parts, *more])
