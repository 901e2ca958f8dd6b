"""The command line: commands, options, settings files and exit codes.

Each command is a module with its name, which builds options, calls one function of another package and prints the
result. Conversion, checks and reports themselves are in other packages.
"""
