"""The run: worker processes, journals, incremental runs, engines, shards."""
