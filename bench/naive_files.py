"""What the least of a converter does with the files of agents: each line parsed, each message that it holds written."""

import sys
from pathlib import Path

import orjson


def messages(path: Path) -> list[object]:
    """The messages of a file, as they stand in its rows."""
    found = []
    for line in path.open("rb"):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        payload = row.get("payload") or {}
        if message := row.get("message") or (row.get("type") == "response_item" and payload):
            found.append(message)
    return found


if __name__ == "__main__":
    logs = sorted(Path(sys.argv[1]).rglob("*.jsonl"))
    with open(sys.argv[2], "wb") as out:
        out.writelines(orjson.dumps({"messages": messages(log)}) + b"\n" for log in logs)
