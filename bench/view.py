"""Measures ``chatsquash view`` on a result of very many sessions: ``make bench-view``."""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from bench.view_forms import in_each_form

HERE = Path(__file__).parent
DATA = HERE / ".data" / "view"
SAMPLES = HERE.parent / "sample_logs"
DOCS = HERE.parent / "docs" / "view.md"
CHATSQUASH = str(Path(sys.executable).with_name("chatsquash"))
BEGIN, END = "<!-- bench-view: written by make bench-view -->", "<!-- end of bench-view -->"
_NEEDLE = "a needle that stands in the very last record"
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)")
_TIMES = 20
_MB = 1_000_000


class Measured(NamedTuple):
    """What was measured: seconds, medians where it was done often, and bytes."""

    sessions: int
    records: int
    """Bytes of the records."""
    start: float
    """Until the URL answers."""
    first: float
    """Until the list is there for the first time, counted from the start."""
    lists: dict[str, float]
    conversation: float
    large: float
    find: float
    search: float
    """Until the only hit, which stands in the last record."""
    peak: int
    """The most memory of the process by then but for the search, and with it."""
    peak_search: int


@click.command()
@click.option("--sessions", default=100_000, show_default=True, help="How many the result has.")
@click.option("--write/--no-write", default=True, show_default=True, help="Write the table to docs/view.md.")
def main(sessions: int, *, write: bool) -> None:
    """Print how long the list, a conversation, the start and a search take, and how much memory."""
    out = made(sessions)
    told = table(measured(out, sessions), in_each_form(DATA / "forms", CHATSQUASH, SAMPLES))
    click.echo(told)
    if write and sessions == 100_000:
        DOCS.write_text(with_region(DOCS.read_text("utf-8"), told), "utf-8")


def made(sessions: int) -> Path:
    """A result of so many sessions: that of the sample logs, many times over, each time in a file of its own."""
    folder = DATA / str(sessions)
    out = folder / "out"
    if (out / "run.json").exists():
        return out
    shutil.rmtree(folder, ignore_errors=True)
    one = folder / "one"
    command = [CHATSQUASH, "convert", str(SAMPLES), "-o", str(one), "--single-file", "--quiet"]
    subprocess.run(command, check=True)
    records = (one / "conversations.jsonl").read_bytes()
    table, findings = (
        list(map(json.loads, (one / "reports" / name).read_bytes().splitlines()))
        for name in ("sessions.jsonl", "findings.jsonl")
    )
    (out / "reports").mkdir(parents=True)
    outputs: list[dict[str, object]] = []
    with (out / "reports/sessions.jsonl").open("w") as rows, (out / "reports/findings.jsonl").open("w") as found:
        left, number = sessions, 0
        while left > 0:
            name = f"part-{number:05}.jsonl"
            some = table[:left]
            left, number = left - len(some), number + 1
            data = records if left else _ending(records)
            (out / name).write_bytes(data)
            outputs.append({"path": name, "size": len(data)})
            rows.writelines(_line(_copy(row, name, number)) for row in some)
            found.writelines(_line(_copy(each, name, number)) for each in findings)
    manifest = json.loads((one / "run.json").read_bytes())
    outputs += [{"path": f"reports/{name}.jsonl"} for name in ("sessions", "findings")]  # a report of no other is read
    (out / "run.json").write_text(json.dumps({**manifest, "outputs": outputs}))
    return out


def _copy(told: dict[str, object], name: str, number: int) -> dict[str, object]:
    """A row of a report for another copy of the same logs."""
    named = {"log": f"{told['log']}-{number}", "file": name} if "log" in told else {"file": f"{told['file']}-{number}"}
    return {**told, **named, "session": f"{told['session']}-{number}"}


def _ending(records: bytes) -> bytes:
    last = {"messages": [{"role": "user", "content": _NEEDLE}], "tools": []}
    return records + json.dumps(last).encode() + b"\n"


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


class Viewer:
    """The command as it runs, and the cookie of somebody who looks."""

    def __init__(self, out: Path) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen([CHATSQUASH, "view", str(out)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        found = None
        while found is None:
            found = _URL.search(self.process.stdout.readline())
        self._port, self._cookie = int(found[1]), ""
        self._cookie = self._enter(f"/?token={found[2]}")
        self.start = time.perf_counter() - began
        self.page = self.get("/").decode()
        self.first = time.perf_counter() - began
        self.base = re.findall(r'href="(/r/[0-9a-f]+/)s/', self.page)[0]

    def _enter(self, path: str) -> str:
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self._port)
                connection.request("GET", path)
                return (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
            except ConnectionRefusedError:
                time.sleep(0.005)

    def answer(self, path: str) -> http.client.HTTPResponse:
        """An answer that is yet to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = connection.getresponse()
        assert answer.status == 200, (path, answer.status)
        return answer

    def get(self, path: str) -> bytes:
        """A page."""
        return self.answer(path).read()

    def peak(self) -> int:
        """The most memory that it had so far, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024

    def stop(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait() == 0


def measured(out: Path, sessions: int) -> Measured:
    """Look at a result."""
    viewer = Viewer(out)
    try:
        drawn = random.Random(0)
        places = [f"{viewer.base}s/{drawn.randrange(sessions)}" for _ in range(_TIMES)]
        longest = f"{viewer.base}s/1"
        lists = {
            "the list": "/",
            "the list, filtered by a text": "/?text=alert",
            "the list, filtered by a finding": "/?finding=tool-result-failed",
            "the list, sorted by tokens": "/?sort=-tokens",
        }
        timed = {name: _median(lambda path=path: viewer.get(path)) for name, path in lists.items()}
        going = iter(places * 2)
        for place in places:  # warm
            viewer.get(place)
        conversation = _median(lambda: viewer.get(next(going)))
        large = _median(lambda: viewer.get(longest))
        find = _median(lambda: viewer.get(f"{longest}/find?q=the"))
        peak = viewer.peak()
        search = _median(lambda: next(_hits(viewer, _NEEDLE)), 3)
        told = {"start": viewer.start, "first": viewer.first, "lists": timed, "conversation": conversation}
        size = sum(path.stat().st_size for path in out.glob("*.jsonl"))
        return Measured(
            sessions=sessions, records=size, large=large, find=find, search=search, peak=peak,
            peak_search=viewer.peak(), **told,
        )  # fmt: skip
    finally:
        viewer.stop()


def _median(do: Callable[[], object], times: int = _TIMES) -> float:
    taken = []
    do()
    for _ in range(times):
        began = time.perf_counter()
        do()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _hits(viewer: Viewer, text: str) -> Iterator[bytes]:
    answer = viewer.answer(f"{viewer.base}search/stream?q={text.replace(' ', '+')}")
    for line in answer:
        if b'"hit"' in line:
            yield line
    answer.close()


def table(told: Measured, forms: dict[str, float]) -> str:
    """What was measured, as Markdown."""
    about = (
        f"`make bench-view` measures this on {told.sessions:,} sessions, with {told.records / _MB:,.0f} MB of "
        f"JSON Lines. Times are medians of {_TIMES} warm requests."
    )
    rate = told.records / told.search / _MB
    rows = [
        ("start until the URL responds", f"{told.start:.1f} s"),
        ("start until the list is shown", f"{told.first:.1f} s"),
        *((name, _ms(seconds)) for name, seconds in told.lists.items()),
        ("a conversation (20 at random)", _ms(told.conversation)),
        ("a conversation of 20 kB", _ms(told.large)),
        ("find in it", _ms(told.find)),
        ("search with one hit, in the last record", f"{told.search:.1f} s, {rate:,.0f} MB/s"),
        *((f"a record in the middle of {name}", _ms(seconds)) for name, seconds in forms.items()),
        ("peak memory", f"{told.peak / _MB:,.0f} MB"),
        ("peak memory with searches", f"{told.peak_search / _MB:,.0f} MB"),
    ]  # fmt: skip
    return "\n".join(
        [about, "", "| what | measured |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds >= 0.001 else "under 1 ms"


def with_region(page: str, made: str) -> str:
    """A page with its measured region made anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, "docs/view.md has no region for make bench-view"
    assert end, "the region for make bench-view in docs/view.md has no end"
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


if __name__ == "__main__":
    main()
