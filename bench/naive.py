"""The converter that a competent engineer would write: one process, every line parsed, nothing checked or cleaned."""

import sys
from pathlib import Path

import orjson


def convert(path: Path) -> bytes:
    """The record of a session: the last of its longest requests, the reply, and the tools up to it."""
    messages, tools, known = [], {}, 0
    for line in path.open("rb"):
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        request = entry["request"]
        for tool in request.get("tools") or ():
            function = tool.get("function", tool)
            tools.setdefault(function["name"], function)
        if len(request["messages"]) >= len(messages):
            messages, response, known = request["messages"], entry.get("response"), len(tools)
    if response and response.get("choices"):
        messages.append(response["choices"][0]["message"])
    messages = [{key: value for key, value in message.items() if value is not None} for message in messages]
    for message in messages:
        if message["role"] == "developer":
            message["role"] = "system"
    return orjson.dumps({"messages": messages, "tools": list(tools.values())[:known]})


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as out:
        out.writelines(convert(log) + b"\n" for log in sorted(Path(sys.argv[1]).rglob("*.jsonl")))
