"""Which reader each sample of a source is for."""

from __future__ import annotations

from pathlib import Path

from chatsquash.formats import documents
from chatsquash.reading.envelopes import envelopes
from chatsquash.sources.names import may_be_document
from tests import golden

ROOT = Path(__file__).parents[2] / "sample_logs"
EXPORTS = {
    "apim": "HTTP captures", "bedrock": "Bedrock invocation logs", "chatreplay": "HTTP captures",
    "cloudflare": "Cloudflare Logpush", "har": "HTTP captures", "helicone": "Helicone", "langfuse": "Langfuse",
    "langsmith": "LangSmith", "mitmproxy": "HTTP captures", "phoenix": "Phoenix",
}  # fmt: skip
"""The samples of exports, and the envelope that their lines have."""
_COMPLETIONS = ("openhands",)
"""Formats of documents whose folder holds logs of exchanges."""
_BESIDE = (".settings.json", "ui_messages.json", "sdk-1.json", "requests.json", "transcript.jsonl")


WITH_OTHERS = ("batch",)
"""Formats whose files have no conversation without the file next to them."""


def agents() -> list[tuple[str, Path]]:
    """Each sample of an agent's file, with the name of its reader; what is read with another file is none."""
    found = []
    for name in documents.names():
        folder = ROOT / name
        files = sorted(path for path in folder.rglob("*") if path.is_file() and name not in _COMPLETIONS)
        files += sorted((ROOT / "documents").glob(f"{name}-*"))
        found += [
            (name, path)
            for path in files or _in_golden_case(name)
            if not path.name.endswith(_BESIDE) and _is_read(path)
        ]
    return found


def _in_golden_case(name: str) -> list[Path]:
    """The files of the first golden case of a format that the sample logs do not show."""
    return sorted(path for path in min((golden.ROOT / name).glob("*/logs")).rglob("*") if path.is_file())


def exports() -> list[tuple[str, Path]]:
    """Each sample of an export, with the name of its folder."""
    return [(name, path) for name in EXPORTS for path in sorted((ROOT / name).rglob("*")) if path.is_file()]


def _is_read(path: Path) -> bool:
    return path.suffix in (".jsonl", ".ndjson") or may_be_document(path.name)


def known_envelopes() -> set[str]:
    return {each.NAME for each in envelopes()}
