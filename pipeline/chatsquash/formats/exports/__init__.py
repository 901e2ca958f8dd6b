"""Formats of the files that services and tracers export; one module or package per export."""
