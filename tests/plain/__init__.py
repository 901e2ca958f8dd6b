"""The plain way held to the general path: growing logs, changed by chance, and ones that are built to mislead it."""
