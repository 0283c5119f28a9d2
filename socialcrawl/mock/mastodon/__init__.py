"""The Mastodon instances of the mock: one world of posts, spread over as many instances as its names have domains."""
