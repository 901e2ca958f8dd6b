"""A run with one worker over logs that only grow imports nothing that such logs do not need."""

import subprocess
import sys

from tests.conftest import assistant, log_line, write_log

ABSENT = """
asyncio concurrent.futures email html http lzma multiprocessing pickle polars pyarrow socket sqlite3 ssl subprocess
tempfile tomllib tqdm unicodedata xml zstandard
chatsquash.formats.agents chatsquash.formats.clients chatsquash.formats.documents chatsquash.formats.exports
chatsquash.formats.providers.anthropic chatsquash.reading.documents chatsquash.reading.envelopes.langfuse
chatsquash.storage.confine.process chatsquash.reading.loading chatsquash.session.agents chatsquash.session.chains
chatsquash.session.conversations chatsquash.session.parts chatsquash.conversion.previous_result
chatsquash.dataset.stops chatsquash.results.verify chatsquash.trees.kinds chatsquash.trees.links
chatsquash.trees.restore chatsquash.trees.rewrites chatsquash.trees.trees chatsquash.dataset.dataset
chatsquash.dataset.parquet chatsquash.dataset.splits chatsquash.conversion.pool chatsquash.sources.arrays
chatsquash.sources.unfolding chatsquash.storage.staging chatsquash.core.mcp chatsquash.dataset.arrow chatsquash.formats.parts
chatsquash.reading.endpoints chatsquash.reading.scan chatsquash.redaction.redactor chatsquash.session.cleaning._rule_states
chatsquash.session.cleaning.claude_code chatsquash.core.marks chatsquash.storage.decoders chatsquash.storage.line_spool
chatsquash.reading.identify chatsquash.redaction.forms
chatsquash.session.output_growth
""".split()
"""Modules that take time, and others that only some logs and options ask for."""
MOST = 144
"""The number of modules of chatsquash that such a run may import; each takes about 0.3 ms."""

RUN = """
import sys
from chatsquash import Options, convert
convert("logs", "out", Options(workers=1, anonymize_key=b"a key for tests of imports"))
print(*sys.modules)
"""


def imported(folder) -> set[str]:
    ran = subprocess.run([sys.executable, "-c", RUN], cwd=folder, capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_logs_that_only_grow(tmp_path):
    turns = ["one", assistant("hello"), "two", assistant("hello"), "three"]
    for name in "ab":
        lines = [log_line(*turns[:n], session_id=name, at=n) for n in (1, 3, 5)]
        write_log(tmp_path / "logs" / f"{name}.jsonl", *lines)
    names = imported(tmp_path)
    assert not names.intersection(ABSENT)
    assert sum(name.partition(".")[0] == "chatsquash" for name in names) <= MOST


def test_other_logs_are_told_by_what_they_need(tmp_path):
    write_log(tmp_path / "logs" / "a.jsonl", *(log_line(each, session_id=None) for each in ("one", "another")))
    assert "chatsquash.session.parts" in imported(tmp_path)
