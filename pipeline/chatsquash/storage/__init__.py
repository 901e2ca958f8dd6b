"""Files and object stores: a local folder without links, locks, remote stores, confined processes."""
