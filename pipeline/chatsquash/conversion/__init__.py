"""Run conversions: worker processes, journals, incremental runs, shards and engines.

Single sessions are converted in ``session``. The output folder and its reports are written in ``dataset``.
"""
