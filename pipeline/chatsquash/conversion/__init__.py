"""Runs: reading logs in worker processes, journals, incremental runs, shards and engines.

A single session is converted in ``session``; the output folder and its reports are in ``dataset``.
"""
