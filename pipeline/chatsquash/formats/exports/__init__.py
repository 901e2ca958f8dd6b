"""The formats of files exported by services and tracers; each is a module or package."""
