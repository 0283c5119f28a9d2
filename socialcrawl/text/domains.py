"""International domain names in the letters of the network: IDNA 2008, as UTS 46 prepares names for it."""

import re

import idna

MAX_LABEL = 63  # characters
_DOTS = re.compile("[.\u3002\uff0e\uff61]")  # what RFC 3490 takes for a dot: full, ideographic, wide and narrow
_DEVIATIONS = re.compile("[\u00df\u1e9e\u03c2\u200c\u200d]")  # IDNA 2003 replaces or drops them: another name


def encode_domain(name: str) -> str:
    """Return a domain in ASCII and lower case: `straße.de` is `xn--strae-oqa.de`.

    By IDNA 2003 it was `strasse.de`, which is somebody else's. Some labels exist although IDNA 2008 refuses them, such
    as those with pictures: they are encoded by IDNA 2003, unless that would change the name. The time grows with the
    square of the length: bound it first.

    Raises:
        UnicodeError: a name with letters beyond ASCII is not a domain.
    """
    if name.isascii():
        return name.lower()
    *labels, last = _DOTS.split(name)
    return ".".join([*map(_encode_label, labels), last and _encode_label(last)])


def _encode_label(label: str) -> str:
    if label.isascii():
        if not 0 < len(label) <= MAX_LABEL:
            raise UnicodeError(f"a label of a domain has 1 to {MAX_LABEL} characters")
        return label.lower()
    try:
        return idna.encode(label, uts46=True).decode("ascii")
    except idna.IDNAError:
        if _DEVIATIONS.search(label):
            raise
        return label.encode("idna").decode("ascii").lower()
