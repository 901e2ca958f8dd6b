"""The command line: commands, options, settings files and exit codes.

Each command is a module of its name that builds options, calls one function of another room and prints the result.
Conversion, checks and reports themselves are not in here.
"""
