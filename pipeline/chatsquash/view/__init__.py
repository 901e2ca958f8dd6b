"""The local viewer: browse the output of a conversion and its logs in a browser on the same machine.

``serve`` starts the server, ``app`` routes URLs and ``guard`` controls access; ``pages`` renders HTML. Reports that are
written to files are in the package ``pages``.
"""
