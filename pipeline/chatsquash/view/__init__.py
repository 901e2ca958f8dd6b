"""The local viewer: what a conversion wrote, and the logs that it read, as pages for one person on this machine."""
