"""The session tree: which reply each request continues, kinds and parents of conversations, coverage, loss."""
