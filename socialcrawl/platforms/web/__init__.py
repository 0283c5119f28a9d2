"""The web as a platform: a page is an account whose one post is its text, and its links are whom it mentions."""
