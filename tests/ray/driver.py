"""The command with shards that are small, so that small logs are many tasks: ``python -m tests.ray.driver``."""

from chatsquash.__main__ import main
from chatsquash.run.shards import divide

if __name__ == "__main__":
    divide._SHARD_SIZES = 3_000_000, 3_000_000
    main()
