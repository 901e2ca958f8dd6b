"""Many outcomes to files: filters, duplicates, splits, the output folder, the card, reports."""
