"""The command as it is for large logs, for small ones: many shards, and locally as many processes as are asked for."""

from chatsquash.__main__ import main
from chatsquash.conversion import workers
from chatsquash.conversion.shards import divide

if __name__ == "__main__":
    divide._SHARD_SIZES = 3_000_000, 3_000_000
    workers._WORTH_A_PROCESS = 1
    main()
