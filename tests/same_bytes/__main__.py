"""``python -m tests.same_bytes``: see the package."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from tests.same_bytes import cases, inputs, run, states
from tests.same_bytes.compare import Outcome, differences

MOST = 5
"""Differences of a case that are printed."""


class Result(NamedTuple):
    case: cases.Case
    base: Outcome
    new: Outcome
    seconds: float
    """What the working tree took."""


class Comparison:
    """Two sides, with the cache of one of them."""

    def __init__(self, revision: str, root: Path, *, itself: bool) -> None:
        cache = Path(os.environ.get("SAME_BYTES_CACHE") or inputs.ROOT / "bench" / ".data" / "same-bytes").absolute()
        package = inputs.sources(revision, cache) / "pipeline"
        self._root, self._cache = root, cache / inputs.key(revision)
        self.inputs = inputs.once(self._cache / "inputs", lambda folder: inputs.make(cache, folder))
        other = inputs.once(self._cache / "earlier", lambda folder: states.other_code(package, folder))
        earlier = run.Side(other, cache)
        self._base = run.Side(package, cache, earlier)
        self._new = self._base if itself else run.Side(inputs.ROOT / "pipeline", cache, earlier)
        inputs.once(self._cache / "states", lambda folder: states.make(earlier, root, self._cache, folder))

    def base(self, case: cases.Case) -> Outcome:
        path = self._cache / "outcomes" / f"{case.folder}-{case.digest}"
        outcome = run.load(path)
        if outcome is None:
            outcome = self._base.outcome(case, self._root, self._cache)
            run.save(path, outcome)
        return outcome

    def compared(self, case: cases.Case) -> Result:
        base, start = self.base(case), time.monotonic()
        new = self._new.outcome(case, self._root, self._cache)
        return Result(case, base, new, time.monotonic() - start)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.same_bytes", description=__doc__)
    parser.add_argument("--base", default=inputs.REVISION, help="the revision to compare with")
    parser.add_argument("--jobs", type=int, default=2, help="cases that run at the same time")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="only cases whose names match")
    parser.add_argument("--quick", action="store_true", help="only some cases, in less than a minute")
    parser.add_argument("--itself", action="store_true", help="compare the base with itself")
    parser.add_argument("--times", action="store_true", help="print what each case took")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    arguments = parser.parse_args()
    if not os.environ.get("REAL_EXCHANGES"):
        print("REAL_EXCHANGES is not set: recorded exchanges are not compared")
    with tempfile.TemporaryDirectory(prefix="same-bytes-") as root:
        comparison = Comparison(arguments.base, Path(root), itself=arguments.itself)
        chosen = [case for case in cases.cases(comparison.inputs) if _is_chosen(case, arguments)]
        if arguments.list:
            print(*(case.name for case in chosen), sep="\n")
            return 0
        return _compare(comparison, chosen, arguments)


def _is_chosen(case: cases.Case, arguments: argparse.Namespace) -> bool:
    if arguments.quick and not case.quick:
        return False
    return not arguments.only or any(fnmatch(case.name, f"*{pattern}*") for pattern in arguments.only)


def _compare(comparison: Comparison, chosen: list[cases.Case], arguments: argparse.Namespace) -> int:
    start, different, names, size = time.monotonic(), 0, 0, 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(comparison.compared, chosen):
            names += len(result.base)
            size += sum(map(len, result.base.values()))
            if arguments.times:
                print(f"{result.seconds:5.1f} s  {result.case.name}")
            lines = list(differences(result.base, result.new))
            if lines:
                different += 1
                print(f"DIFFERENT {result.case.name}", *lines[:MOST], sep="\n    ")
                if len(lines) > MOST:
                    print(f"    and {len(lines) - MOST} more")
                sys.stdout.flush()
    seconds = time.monotonic() - start
    print(f"{len(chosen)} cases, {names:,} files and streams, {size:,} bytes in {seconds:.0f} s: {different} differ")
    return 1 if different or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
