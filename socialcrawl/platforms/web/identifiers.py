"""How ids of the web look. Pure, and below everything that uses it."""


def find_account_page(name: str | None, account_id: str | None) -> str | None:
    """Return the address of a page, which is its own account."""
    return next((one for one in (account_id, name) if one and find_owners(one)), None)


def find_post_page(key: str) -> str | None:
    """Return the address of a page, which is its own post."""
    return key if find_owners(key) else None


def find_owners(key: str) -> set[str] | None:
    """Return the address of a page, which is its own account; None where it is none."""
    return {key} if key.lower().startswith(("http://", "https://")) else None
