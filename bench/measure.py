"""Run commands side by side and print, as JSON, what they took: run as ``python -IS measure.py COMMANDS``.

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


def main() -> None:
    """Start every command, wait for all processes, print the time of the commands and the peak of the processes."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    commands = json.loads(sys.argv[1])
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    started = time.perf_counter()
    running = {os.posix_spawn(command[0], command, os.environ, file_actions=silent) for command in commands}
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
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "codes": codes}))


main()
