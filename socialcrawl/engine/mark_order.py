"""Which of two marks is newer: what a visit saw last, in the platform's own terms. Pure."""


def is_number(mark: str) -> bool:
    """Return whether it is a number of at most 19 digits, as a database holds it."""
    return mark.isascii() and mark.isdecimal() and len(mark) <= 19


def are_comparable(one: str, other: str) -> bool:
    """Return whether it can be told which of two marks is newer: both are numbers, or neither is."""
    return is_number(one) == is_number(other)


def make_sort_key(mark: str) -> tuple[int, str]:
    """Return the sort key of a mark, oldest first: numbers, and texts of one length that grow with time."""
    return len(mark), mark


def is_between(mark: str, after: str, until: str) -> bool:
    """Return whether a mark is newer than one, and not newer than another, of marks that can be compared."""
    return make_sort_key(after) < make_sort_key(mark) <= make_sort_key(until)


def find_newest(*marks: str) -> str:
    """Return the newest of marks, of which some may be ""; where two cannot be compared, the later one in the list."""
    found = ""
    for mark in marks:
        if mark and (not found or not are_comparable(found, mark) or make_sort_key(mark) > make_sort_key(found)):
            found = mark
    return found
