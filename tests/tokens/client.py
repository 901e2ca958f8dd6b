"""A client that talks to a server and logs the exchanges of a session."""

import copy
import json
from dataclasses import dataclass, field

from .server import Server, vllm

SYSTEM = {"role": "system", "content": "You are an agent that edits files and runs tests in a repository."}
_PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "run", "description": "Run tests.", "parameters": _PARAMETERS}}]


def user(text):
    return {"role": "user", "content": text}


def call(arguments='{"path": "tests/test_sum.py"}', name="run"):
    """The text of a call, as a model samples it; without arguments if they are ``None``."""
    given = "" if arguments is None else f', "arguments": {arguments}'
    return f'<tool_call>\n{{"name": "{name}"{given}}}\n</tool_call>'


@dataclass
class Client:
    """A client with its history."""

    server: Server
    form: object = vllm
    tools: list = field(default_factory=lambda: TOOLS)
    messages: list = field(default_factory=lambda: [SYSTEM])
    session: str = "s1"
    lines: list = field(default_factory=list)

    def ask(self, *messages, text, **sampling):
        """Send messages and append the reply."""
        self.messages = [*self.messages, *messages]
        message, finish, sampled = self.server.reply(self.messages, self.tools, text, **sampling)
        number = len(self.lines) + 1
        request = {"model": self.server.model, "messages": copy.deepcopy(self.messages), "tools": self.tools}
        self.lines.append(
            {
                "timestamp": f"2026-01-13T10:{number // 60:02d}:{number % 60:02d}Z",
                "session_id": self.session,
                "request": request,
                "response": self.form(self.server, message, finish, sampled, number),
            }
        )
        self.messages = [*self.messages, message]
        return sampled

    def result(self, text="3 passed, 1 failed in 0.2 s"):
        """The result of the last call."""
        return {"role": "tool", "tool_call_id": self.messages[-1]["tool_calls"][0]["id"], "content": text}

    def write(self, folder, name="s1.jsonl"):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("".join(json.dumps(each) + "\n" for each in self.lines))
        return folder
