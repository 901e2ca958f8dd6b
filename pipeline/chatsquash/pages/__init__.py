"""Render texts and records as HTML, and build the report page; the viewer and its server are in ``view``."""
