"""Conversations as clients and libraries keep them; one module or folder each."""
