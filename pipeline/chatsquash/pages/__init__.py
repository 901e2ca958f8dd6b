"""HTML of texts and records, and the report page."""
