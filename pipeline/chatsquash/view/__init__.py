"""The local viewer: browse the output of a conversion, and the logs it read, in a browser on the same machine.

``serve`` starts the server, ``app`` routes URLs and ``guard`` controls access; ``pages`` renders HTML. Reports that are
written to files are in the room ``pages`` of the package.
"""
