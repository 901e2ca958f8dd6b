"""The archive of logs: chunks, packs, snapshots and the commands on them."""
