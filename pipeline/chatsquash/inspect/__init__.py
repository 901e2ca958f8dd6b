"""Show sessions entry by entry, and list the agents with files on this machine."""
