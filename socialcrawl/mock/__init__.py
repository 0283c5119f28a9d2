"""The mock server: one dataset of posts served as X, Bluesky and Mastodon at once, with real windows and counts."""
