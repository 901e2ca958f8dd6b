"""What is taken out of a log before it is written: addresses, which get keyed pseudonyms, and credentials."""
