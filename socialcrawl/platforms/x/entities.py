"""What X finds in a text: hashtags, cashtags and names as its library twitter-text (3.1) extracts them, and links."""

from socialcrawl.text.entities import Entities, Mark

_ALPHA = r"\p{L}\p{M}"
_WITHIN = (
    _ALPHA + r"\p{Nd}_\u200c\u200d\ua67e\u05be\u05f3\u05f4\uff5e\u301c\u309b\u309c\u30a0\u30fb\u3003\u0f0b\u0f0c\xb7"
)
_PUNCTUATION = r"!'#%&()*+,\\\-./:;<=>?@\[\]^_{{|}}~$"

HASHTAG = Mark("#", rf"[{_WITHIN}]*[{_ALPHA}][{_WITHIN}]*", rf"[{_WITHIN}&]", "{inside}|#|://", rf"[{_WITHIN}]")
CASHTAG = Mark(
    "$",
    r"[a-z]{1,6}(?:[._][a-z]{1,2})?",
    r"\S",
    rf"[^\s{_PUNCTUATION}]|[._][a-z]{{{{1,2}}}}(?![^\s{_PUNCTUATION}])",
)
NAME = Mark("@", r"[a-z0-9_]{1,15}", r"[a-z0-9_!#$%&*@]", "[a-z0-9_@]|://|{inside}", r"[\p{sc=Latin}\u0300-\u036f]")
ENTITIES = Entities((HASHTAG, CASHTAG, NAME), addresses=True)
