"""Pages in a browser: ``make test-web`` opens them in a Chromium, where one is."""
