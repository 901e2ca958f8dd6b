"""Real agents run offline against a scripted model server on loopback; what it was sent is compared with the records."""
