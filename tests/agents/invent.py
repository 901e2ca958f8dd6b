"""Make a fixture of a recording: agents' prompts become short invented lines, and the structure of the files stays.

Texts are replaced line by line, and the same line always becomes the same words, so that texts that are equal in an agent's
file and in the gateway's log stay equal. Lines with marks and short lines stay.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.agents.clients import Client
from tests.agents.server import MARK, WORDS

FOLDER = Path(__file__).parent / "recordings"
HOME = "/home/ada"
SHORT = 6
"""Words that a line may have to stay as it is."""
LINES = 12
"""Lines of a text without marks that stay."""

Text = Callable[[str], str]


def invented(text: str) -> str:
    """A text with invented words instead of long lines, and without the middle of its lines if there are many."""
    lines = [_line(line) for line in text.split("\n")]
    if len(lines) > LINES and not MARK.search(text):
        lines = [*lines[: LINES // 2], *lines[-LINES // 2 :]]
    return "\n".join(lines)


def _line(line: str) -> str:
    words = line.split()
    if len(words) <= SHORT or MARK.search(line) or all(word.strip(".").lower() in WORDS for word in words):
        return line
    digest = sha256(line.strip().encode()).digest()
    indent = line[: len(line) - len(line.lstrip())]
    return indent + " ".join(WORDS[int.from_bytes(digest[at : at + 4]) % len(WORDS)] for at in (0, 4, 8, 12))


def json_value(value: Any, text: Text) -> Any:
    """A JSON value with its texts replaced; texts that are JSON themselves are read."""
    if isinstance(value, str):
        return _embedded(value, text)
    if isinstance(value, list):
        return [json_value(each, text) for each in value]
    if isinstance(value, dict):
        return {_moved(key, text): json_value(each, text) for key, each in value.items()}
    return value


def _moved(key: str, text: Text) -> str:
    """A key, which may be a path."""
    return text(key) if "/" in key else key


def _embedded(value: str, text: Text) -> str:
    if value[:1] in "{[":
        try:
            inner = json.loads(value)
        except ValueError:
            return text(value)
        replaced = json_value(inner, text)
        return value if replaced == inner else json.dumps(replaced, ensure_ascii=False)
    return text(value)


def exchange(line: Any) -> Any:
    """A line of the gateway's log, in which definitions of tools keep their names only."""
    request = line["request"]
    if "tools" in request:
        request["tools"] = [_definition(tool) for tool in request["tools"]]
    return line


def _definition(tool: dict[str, Any]) -> dict[str, Any]:
    empty = {"type": "object", "properties": {}}
    if "function" in tool:
        return {"type": "function", "function": {"name": tool["function"]["name"], "parameters": empty}}
    if "functionDeclarations" in tool:
        return {"functionDeclarations": [{"name": each["name"]} for each in tool["functionDeclarations"]]}
    if "input_schema" in tool:
        return {"name": tool["name"], "input_schema": empty}
    kept = {name: tool[name] for name in ("type", "name", "format") if name in tool}
    if "tools" in tool:
        return {**kept, "tools": [_definition(each) for each in tool["tools"]]}
    return kept | ({"parameters": empty} if "parameters" in tool else {})


def pack(recording: Path, client: type[Client], name: str) -> Path:
    """Write ``recordings/NAME.tar.xz`` of an agent's files, the gateway's log and the truth."""
    home = str((recording / "home").resolve())
    dashed = re.sub(r"[^A-Za-z0-9]", "-", home)

    def text(value: str) -> str:
        moved = value.replace(home, HOME).replace(dashed, HOME.replace("/", "-"))
        return invented(moved)

    FOLDER.mkdir(exist_ok=True)
    target = FOLDER / f"{name}.tar.xz"
    files = [path for pattern in client.files for each in (recording / "home").glob(pattern) for path in _below(each)]
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted({*files, recording / "log" / "gateway.jsonl", recording / "truth.json"}):
            inner = str(path.relative_to(recording)).replace(dashed.strip("-"), HOME.replace("/", "-").strip("-"))
            _add(archive, inner, _content(path, text, home))
    return target


def _below(path: Path) -> list[Path]:
    if path.is_dir():
        return [each for each in path.rglob("*") if each.is_file()]
    return [path]


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _content(path: Path, text: Text, home: str) -> bytes:
    if path.suffix == ".db":
        return _database(path, text)
    raw = path.read_text(encoding="utf-8", errors="replace")
    if path.name == "truth.json":
        truth = json.loads(raw.replace(home, HOME))
        truth["exchanges"] = [{**each, "text": text(each["text"])} for each in truth["exchanges"]]
        return json.dumps(truth).encode()
    if path.suffix == ".jsonl":
        read = exchange if path.name == "gateway.jsonl" else (lambda line: line)
        lines = [json_value(read(json.loads(line)), text) if line.strip() else None for line in raw.split("\n")]
        return "\n".join("" if line is None else json.dumps(line, ensure_ascii=False) for line in lines).encode()
    if path.suffix == ".json":
        return json.dumps(json_value(json.loads(raw), text), ensure_ascii=False).encode()
    return text(raw).encode()


def _database(path: Path, text: Text) -> bytes:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        tables = [row[0] for row in copy.execute("select name from sqlite_master where type = 'table'")]
        for table in tables:
            columns = [row[1] for row in copy.execute(f"pragma table_info([{table}])") if "TEXT" in row[2].upper()]
            for column in columns:
                rows = copy.execute(f"select rowid, [{column}] from [{table}]").fetchall()
                values = [(_embedded(value, text), row) for row, value in rows if isinstance(value, str)]
                copy.executemany(f"update [{table}] set [{column}] = ? where rowid = ?", values)
        copy.commit()
        copy.execute("vacuum")
        return copy.serialize()
