"""Types that cross rooms, and what all rooms use: JSON, text, times, options, errors, the version."""
