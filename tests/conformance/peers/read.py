"""What other readers see in files of agents, as JSON on standard output; runs in an environment that has them.

``python read.py < JOBS``, where JOBS is a list of ``[peer, path]``; gives a list of lists of messages, or of an error.
"""

import asyncio
import json
import sys
from pathlib import Path


def teich(path):
    from teich.converter import convert_trace_to_training_example

    return [convert_trace_to_training_example(Path(path)).messages]


def inspect_scout(path):
    from inspect_scout.sources import claude_code

    async def read():
        return [messages(each.messages) async for each in claude_code(path=path)]

    return asyncio.run(read())


def inspect_ai(path):
    from inspect_ai.log import read_eval_log

    return [messages(sample.messages) for sample in read_eval_log(path, resolve_attachments=True).samples]


def messages(found):
    return [each.model_dump(exclude_none=True) for each in found]


def told(peer, path):
    try:
        return {"conversations": globals()[peer](path)}
    except Exception as problem:
        return {"refused": f"{type(problem).__name__}: {problem}".splitlines()[0]}


if __name__ == "__main__":
    jobs = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr  # they print what they like
    json.dump([told(*job) for job in jobs], out, default=str)
