"""What pages show of conversations: the one place where text of a log becomes HTML."""
