"""Modules that are loaded on first use."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from chatsquash.core.lazy import LazyModule


def test_a_module_is_not_used_while_another_thread_is_importing_it(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(0.2)\nvalue = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = LazyModule("slow_module")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(getattr, module, "value")
        while "slow_module" not in sys.modules and not first.done():
            time.sleep(0.001)
        second = threads.submit(getattr, module, "value")
        assert (first.result(), second.result()) == (1, 1)
    monkeypatch.delitem(sys.modules, "slow_module")
