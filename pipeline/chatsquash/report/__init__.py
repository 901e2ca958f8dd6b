"""What a run tells about itself: findings, tool usage, the summary."""
