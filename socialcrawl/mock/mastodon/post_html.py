"""A post's text as the HTML that Mastodon makes of it: paragraphs, and links for mentions, hashtags and addresses.

A mention keeps the spelling of the text (Mastodon shows the domain too where names could be confused), so that the
text can be read back from the HTML letter by letter, except for runs of three or more line ends.
"""

import re
from collections.abc import Mapping

_ENTITY = re.compile(
    r"(?P<url>https?://[^\s<>\"]+)"
    r"|(?<!\w)\#(?P<tag>\w+)"
    r"|(?<!\w)@(?P<name>\w+(?:[.\-]\w+)*(?:@[\w\-]+(?:\.[\w\-]+)*)?)"
)
_WORD = re.compile(r"\w+")
_PREFIX = re.compile(r"https?://(?:www\.)?")
_PARAGRAPHS = re.compile(r"\n\n+")
_AFTER_A_LINK = ".,;:!?')]…"
_SHOWN = 30  # characters of an address that are to be seen


def render_content(text: str, domain: str, names: Mapping[str, str], *, foreign: bool = False) -> str:
    """Return the HTML of a text.

    Args:
        text: the text; blank gives no HTML at all.
        domain: the author's instance, whose pages the hashtags lead to.
        names: the addresses of the accounts that the post mentions, by every folded spelling behind an @.
        foreign: whether another instance shows the post; it adds to every link that it does not answer for it.
    """
    if not text.strip():
        return ""
    far = ' rel="nofollow noopener" target="_blank"' if foreign else ""
    made, place = [], 0
    for found in _ENTITY.finditer(text):
        link, end = _render_link(found, domain, names, far)
        if link:
            made += [escape(text[place : found.start()]), link]
            place = end
    return _render_paragraphs("".join(made) + escape(text[place:]))


def find_hashtags(text: str) -> list[str]:
    """Return the hashtags of a text, lower case, each once, in order; numbers are none."""
    if "#" not in text:
        return []
    found = (match["tag"] for match in _ENTITY.finditer(text))
    return list(dict.fromkeys(tag.lower() for tag in found if tag and not tag.isdigit()))


def escape(text: str) -> str:
    """Return the text with the five letters that mean something in HTML written as Rails writes them."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#39;")


def _render_link(found: re.Match[str], domain: str, names: Mapping[str, str], far: str) -> tuple[str, int]:
    """Return the link for a match and where it ends; no link where the match means nothing."""
    if found["url"]:
        url = found["url"].rstrip(_AFTER_A_LINK)
        return _render_address(url), found.start() + len(url)
    if found["tag"]:
        return _render_hashtag(found["tag"], domain, far), found.end()
    return _render_mention(found, domain, names, far)


def _render_address(url: str) -> str:
    prefix = match[0] if (match := _PREFIX.match(url)) else ""
    rest = url[len(prefix) :]
    kind = "ellipsis" if len(rest) > _SHOWN else ""
    return (
        f'<a href="{escape(url)}" target="_blank" rel="nofollow noopener" translate="no">'
        f'<span class="invisible">{prefix}</span><span class="{kind}">{escape(rest[:_SHOWN])}</span>'
        f'<span class="invisible">{escape(rest[_SHOWN:])}</span></a>'
    )


def _render_hashtag(tag: str, domain: str, far: str) -> str:
    if tag.isdigit():
        return ""
    rel = far or ' rel="tag"'
    return f'<a href="https://{domain}/tags/{tag}" class="mention hashtag"{rel}>#<span>{tag}</span></a>'


def _render_mention(found: re.Match[str], domain: str, names: Mapping[str, str], far: str) -> tuple[str, int]:
    """Return the link of the longest spelling that is somebody's name.

    A name of the author's own instance may name it.
    """
    name = found["name"]
    word = _WORD.match(name)
    local = name.lower().removesuffix("@" + domain)
    spellings = (name, name[: len(local)], word[0] if word else "")
    for place, spelling in enumerate(spellings):
        url = names.get(spelling.lower())
        if url:
            shown = name if place == 1 else spelling
            link = f'<a href="{url}" class="u-url mention"{far}>@<span>{escape(shown)}</span></a>'
            return f'<span class="h-card" translate="no">{link}</span>', found.start() + 1 + len(shown)
    return "", found.end()


def _render_paragraphs(html: str) -> str:
    lines = html.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    parts = _PARAGRAPHS.split(lines)
    return "".join("<p>" + part.replace("\n", "<br />") + "</p>" for part in parts)
