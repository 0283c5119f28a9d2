"""Keywords that cannot be meant as they are written: queries, operators, lists in one text, signs alone. Pure.

A search for such a text is billed, and finds nothing or something else. Each is refused with how to write it.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from socialcrawl.errors import SettingsError
from socialcrawl.text.entities import plain_address
from socialcrawl.text.word_boundaries import is_searchable

PLACEHOLDERS = {"a word", "a phrase", "prefix*", "#your_tag"}  # keywords of the templates
BOOLEAN = re.compile(r"\s+(?:OR|AND|NOT)\s+")
COMMAS, SEMICOLONS = ",\uff0c\u060c\u3001|\uff5c", ";\uff1b\u061b"  # of Latin, Chinese and Arabic texts; and bars
PARTS = re.compile(f"[\\s{COMMAS}{SEMICOLONS}]")
QUOTED = r'["\u201c\u201d][^"\u201c\u201d]+["\u201c\u201d]'
_OTHERS = (
    r"is|has|filter|in(?=:(?:library|public|all)\b)|context|entity|conversation_id|(?:in_reply_to|quotes_of)_tweet_id|"
    r"place|place_country|point_radius|bounding_box|geocode|near|within|list|bio|bio_name|bio_location|source|sample|"
    r"min_\w+|\w+_count"
)
OPERATORS = (
    (r"from", 'accounts to begin with go into usernames under [seeds], as usernames = ["{value}"]'),
    (r"to|mentions|retweets_of", 'accounts that posts mention are keywords with @, as "@{value}"'),
    (r"lang(?:uage)?", 'languages go into languages under [topic], as languages = ["{value}"]'),
    (r"url|domain", 'a link is written as its address, as "https://example.org/page"'),
    (r"(?:since|until|before|after|during)(?:_time|_id)?(?=:\d)", "times go into from and until under [topic]"),
    (_OTHERS, "to count posts by more than words, write a regular expression as patterns under [topic]"),
)
"""Operators of the searches of X, Bluesky and Mastodon, and where in a campaign file belongs what each asks for."""


class KeywordForm(NamedTuple):
    """How keywords are written in one place.

    Attributes:
        where: the place.
        listed: writes a list of keywords there.
    """

    where: str
    listed: Callable[[Sequence[str]], str]


IN_FILE = KeywordForm("[topic] keywords", lambda words: f"keywords = {json.dumps([*words], ensure_ascii=False)}")
AS_OPTIONS = KeywordForm("--keyword", lambda words: " ".join(f"--keyword {shlex.quote(word)}" for word in words))
AS_OPTION = KeywordForm("--keyword", lambda words: f"--keyword {shlex.quote(words[0])} (it takes one keyword)")


def check_keywords(keywords: Sequence[str], form: KeywordForm = IN_FILE) -> None:
    """Check that keywords can be meant as they are written.

    Args:
        keywords: see `Topic`.
        form: where they are written.

    Raises:
        SettingsError: with a line for each that cannot.
    """
    if found := find_questionable(keywords, form):
        raise SettingsError("\n".join(dict.fromkeys(found.values())))


def find_questionable(keywords: Sequence[str], form: KeywordForm = IN_FILE) -> dict[str, str]:
    """Return the keywords that cannot be meant as they are written, each with a sentence that says how to write it."""
    found = {}
    for keyword in keywords:
        if keyword in PLACEHOLDERS:
            found[keyword] = (
                f"{form.where} still has the examples of the template: replace them by your own, as "
                f"{form.listed(['word', 'a phrase'])}."
            )
        elif why := next(_find_reasons(keyword, form), None):
            found[keyword] = f"{form.where}: {keyword!r} {why}."
    return found


def _find_reasons(keyword: str, form: KeywordForm) -> Iterator[str]:
    """Iterate over what is wrong with a keyword, and how to write it."""
    stem = keyword.strip().removesuffix("*")
    if not stem:
        yield "is empty: remove it, or write a word"
    if BOOLEAN.search(keyword):
        yield _explain_boolean(keyword, form)
    if re.match(r"https?://", stem, re.IGNORECASE):
        if plain_address(stem) is None:
            yield 'begins like an address, but is not one: write it in full, as "https://example.org/page"'
        return  # the rest of an address may have any sign
    if not is_searchable(stem):
        yield (
            "has no letter, digit or emoji, and no search finds it. Write it with its word, as "
            '"#climate"; to count signs alone, write a regular expression as patterns under [topic]'
        )
    for names, instead in OPERATORS:
        if found := re.search(rf"(?<!\S)-?\(*({names}):[\"(@]*([^\s\"()]+)", keyword, re.IGNORECASE):
            yield (
                f"would be searched as words: keywords have no operators such as {found[1]}:. Take it out; "
                f"{instead.format(value=found[2])}"
            )
    if any(re.match(r"-[\"(#@$]*[^\W\d_]", part) and not part.endswith("-") for part in keyword.split()):
        yield (
            "would be searched with the word behind the -: keywords exclude nothing. Take it out; to count only some "
            "posts, write a regular expression as patterns under [topic]"
        )
    yield from _explain_several(keyword, form)
    if re.search(r"\w\*\s+\S", keyword):
        yield (
            "has an * in the middle, where it stands for itself: a prefix is one word, or a phrase that ends with it, "
            f"as {form.listed(['climat*', 'climate chang*'])}"
        )


def _explain_boolean(keyword: str, form: KeywordForm) -> str:
    parts = [part for one in BOOLEAN.split(keyword) if (part := one.strip(" ()\"'"))]
    if re.search(r"[():]|(^|\s)-\w", keyword.strip("()")):
        return (
            "is a query, and would be searched as one phrase. Write words and phrases alone, as "
            f"{form.listed(['climate', 'a phrase'])}: any of them counts. Languages go into languages under [topic], "
            "regular expressions into patterns"
        )
    written = f"list them: {form.listed(parts)}; any of them counts"
    if not re.search(r"\s(AND|NOT)\s", keyword):
        return f"would be searched as one phrase. To write OR, {written}"
    return (
        "would be searched as one phrase, and keywords know no AND or NOT. Write a regular expression as patterns "
        f"under [topic], or {written}"
    )


def _explain_several(keyword: str, form: KeywordForm) -> Iterator[str]:
    """Yield what is wrong where one text holds several keywords: between commas, in quotes, or each with its sign."""
    parts = list(filter(None, map(_strip_quotes, _split_keyword(keyword))))
    if len(parts) > 1:
        yield (
            f"would be searched as one phrase. List several keywords one by one: {form.listed(parts)}; any of them "
            "counts. If it is one phrase, write it without the sign, and add it as it stands to patterns under [topic]"
        )
    elif parts != [keyword.strip()]:
        yield (
            f"counts only where posts have the same signs around it. Write {form.listed(parts)}; a phrase needs no "
            "quotes"
        )
    tags = re.findall(rf"{QUOTED}|[#$@]\w\S*", keyword)
    if len(tags) > 1 and not re.sub(rf"{QUOTED}|[#$@]\w\S*", "", keyword).strip():
        listed = form.listed([_strip_quotes(tag) for tag in tags])
        yield f"would be searched as one phrase. List several keywords one by one: {listed}; any of them counts"


def _strip_quotes(text: str) -> str:
    """Return a text without white space and quotation marks around it."""
    bare = text.strip()
    return bare[1:-1].strip() if re.fullmatch(QUOTED, bare) else bare


def _split_keyword(keyword: str) -> Iterator[str]:
    """Split a keyword where a sign parts words, not where it belongs to one: 10,000, N,N-DMT or Steins;Gate."""
    begin = 0
    for sign in re.finditer(f"[{COMMAS}{SEMICOLONS}]", keyword):
        behind = keyword[sign.end() :]
        beside = PARTS.split(keyword[: sign.start()])[-1], PARTS.split(behind)[0]
        words = all(len(side) > 1 and re.search(r"[^\W\d_]", side) for side in beside)
        if not behind.strip() or behind[0].isspace() or (words and sign[0] not in SEMICOLONS):
            yield keyword[begin : sign.start()]
            begin = sign.end()
    yield keyword[begin:]
