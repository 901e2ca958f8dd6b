"""Conversations from one format to another, and what that loses."""
