"""A conversion in shards: a listing divides the logs, each shard is converted alone, and a merge writes the dataset."""
