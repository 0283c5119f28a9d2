"""How ids of the web look. Pure, and below everything that uses it."""


def find_owners(key: str) -> set[str] | None:
    """Return the address of a page, which is its own account; None where it is none."""
    return {key} if key.lower().startswith(("http://", "https://")) else None


def find_post_address(post: str) -> str | None:
    """Return the address of a page, which is its id."""
    return post if find_owners(post) else None
