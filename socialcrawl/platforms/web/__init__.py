"""The web as a platform: a page is an account with one post, and its links are mentions."""
