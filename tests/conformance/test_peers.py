"""Other readers of agents' files, on the same files: ``differences.toml`` lists how they differ and why."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from chatsquash.core.options import Options
from chatsquash.reading import identify
from chatsquash.sources.open import open_file

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("PEERS", ROOT / ".venv" / "peers" / "bin" / "python"))
READ = {
    "teich": ("claude_code", "codex", "cursor", "droid", "hermes", "openclaw", "pi"),
    "inspect_scout": ("claude_code",),
    "inspect_ai": ("inspect_ai",),
}
"""Of each reader the sources that it reads."""
DIFFERENCES = {
    (peer, row["file"]): row
    for peer, rows in tomllib.loads((Path(__file__).parent / "differences.toml").read_text("utf-8")).items()
    for row in rows
}
SUFFIXES = {"inspect_ai": (".eval", ".json")}

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="teich and inspect-scout are not installed")


def files(peer):
    """The samples and the cases of what a reader reads."""
    for name in READ[peer]:
        folders = [*ROOT.glob(f"sample_logs/{name}"), *ROOT.glob(f"tests/golden/{name}/*/logs")]
        found = [path for folder in folders for path in folder.rglob("*")]
        found += (ROOT / "sample_logs" / "documents").glob(f"{name}-*")
        yield from sorted(path for path in found if path.suffix in SUFFIXES.get(peer, (".jsonl",)))


JOBS = [(peer, path.relative_to(ROOT).as_posix()) for peer in READ for path in files(peer)]


@pytest.fixture(scope="module")
def theirs():
    asked = json.dumps([[peer, str(ROOT / path)] for peer, path in JOBS])
    script = Path(__file__).with_name("peers") / "read.py"
    done = subprocess.run([PYTHON, script], input=asked, capture_output=True, text=True, check=True, timeout=300)
    return dict(zip(JOBS, json.loads(done.stdout), strict=True))


def ours(path):
    """Conversations of a file, the one first that becomes the record."""
    with open_file(str(ROOT / path), Options()) as file:
        held = identify.document_content(file)
    return [list(map(bare, each.messages)) for each in held.conversations()] if held else []


def bare(message):
    """What a message says: its role, text, reasoning, and calls; however its reader spells them."""
    content, reasoning = message.get("content") or "", message.get("reasoning_content") or ""
    if isinstance(content, list):
        reasoning = "\n".join(part["reasoning"] for part in content if part.get("type") == "reasoning") or reasoning
        content = "\n".join(part["text"] for part in content if part.get("type") == "text")
    calls = [called(each) for each in message.get("tool_calls") or []]
    return [message["role"], content.strip(), reasoning.strip(), calls]


def called(call):
    told = call["function"] if isinstance(call["function"], dict) else {"name": call["function"], **call}
    arguments = told["arguments"]
    return [told["name"], json.loads(arguments or "{}") if isinstance(arguments, str) else arguments]


def differs(path, found):
    """How what another reader found differs from ours; ``None`` where it does not."""
    if "refused" in found:
        return "refused"
    held = ours(path)
    others = [list(map(bare, each)) for each in found["conversations"]]
    if others == held or others == held[:1]:
        return None
    lengths = [list(map(len, each)) for each in (others, held)]
    return f"{lengths[0]} messages, ours {lengths[1]}"


@pytest.mark.parametrize("peer, path", JOBS)
def test_what_another_reader_sees_differs_as_the_table_says(theirs, peer, path):
    held = DIFFERENCES.get((peer, path))
    assert differs(path, theirs[peer, path]) == (held["how"] if held else None)


def test_the_table_has_only_files_that_are_there():
    assert set(DIFFERENCES) <= set(JOBS)


@pytest.mark.parametrize("peer", READ)
def test_the_page_has_the_number_of_files_that_differ(peer):
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    read, different = ([path for reader, path in jobs if reader == peer] for jobs in (JOBS, DIFFERENCES))
    assert f"| {peer} | {len(different)} of {len(read)} |" in page
