"""An MCP server over standard input and output, with one tool that returns its text."""

import json
import sys
from typing import Any

TOOL = {
    "name": "echo_words",
    "description": "Return the words.",
    "inputSchema": {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]},
}


def result(request: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    method, parameters = request["method"], request.get("params") or {}
    if method == "initialize":
        version = parameters.get("protocolVersion", "2025-06-18")
        server = {"name": "words", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": parameters["arguments"]["words"]}]}
    return {}


def main() -> None:
    """Answer requests, one a line; notifications have no answer."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": result(request)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
