"""What the page of a result shows, read from its folder and from the logs that are still there."""
