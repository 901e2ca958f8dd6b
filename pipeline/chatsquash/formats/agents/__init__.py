"""Formats of the files in which coding agents store their sessions; one module or package per agent."""
