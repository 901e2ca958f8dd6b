"""The formats of coding agents' session files; each is a module or package."""
