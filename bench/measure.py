"""Run commands side by side and print, as JSON, what they took: run as ``python -IS measure.py COMMANDS [CORES]``.

A process of its own, and a small one, since a child's peak memory counts from that of the process that starts it.
Processes that outlive their parents become this one's children, so that none is missed.
"""

import ctypes
import json
import os
import sys
import time

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
_IDLE = {3, 4}  # columns of /proc/stat in which nobody works: idle, iowait


def main() -> None:
    """Start every command, wait for all processes, print the time of the commands and the peak of the processes."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    commands = json.loads(sys.argv[1])
    cores = json.loads(sys.argv[2]) if len(sys.argv) > 2 else []
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    before = _busy()
    started = time.perf_counter()
    running = set()
    for number, command in enumerate(commands):
        if cores:
            os.sched_setaffinity(0, {cores[number % len(cores)]})
        running.add(os.posix_spawn(command[0], command, os.environ, file_actions=silent))
    codes = []
    seconds = cpu = 0.0
    peak = 0
    while True:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        if pid in running:
            seconds = time.perf_counter() - started
            codes.append(os.waitstatus_to_exitcode(status))
        # Both are of the process and of all those it waited for: the sum of the times, the largest of the peaks.
        cpu += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss * _UNIT)
    after, whole = _busy(), time.perf_counter() - started
    others = None if before is None or after is None else max(0.0, after - before - cpu) / whole
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "codes": codes, "others": others}))


def _busy() -> float | None:
    """The CPU seconds that all cores have worked for anybody; ``None`` where the system does not say."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(column) for column in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return sum(count for column, count in enumerate(ticks) if column not in _IDLE) / os.sysconf("SC_CLK_TCK")


main()
