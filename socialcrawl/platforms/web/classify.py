"""What an answer of a web server means: its kind, why a page is missing, its type and alphabet, soft 404s. Pure."""

import codecs
import re
from collections.abc import Mapping

from socialcrawl.engine.model import LARGEST, Limit, Reason, ReplyKind
from socialcrawl.graph.relevance import fold
from socialcrawl.platforms.headers import parse_retry_after

HTML, PLAIN = ("text/html", "application/xhtml+xml"), ("text/plain",)
MOVED = (301, 302, 303, 307, 308)
GONE = {404: Reason.UNKNOWN, 410: Reason.DELETED}
CLOSED = (401, 402, 403, 407, 451)
NO_HEAD = (405, 501)  # the server does not know HEAD: that says nothing of the page
_OWN = frozenset((
    "ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "cp866", "mac-roman", "gbk", "gb2312",
    "gb18030", "big5", "big5hkscs", "euc_jp", "euc_kr", "iso2022_jp", "shift_jis", "tis-620", "cp874", "cp932",
    "cp949",
))  # fmt: skip
ALPHABETS = _OWN | {f"iso8859-{n}" for n in range(1, 17)} | {f"cp125{n}" for n in range(9)}
SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}
SHORT = 1_000  # characters: a longer text says something
NOT_FOUND = ("page not found", "error 404")  # what LiveRank looks for, paper 003, section 3.1
BRIEF = 300  # characters of a page that says nothing but that there is none
_META = re.compile(rb"<meta\s[^>]*charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_PAGE = (
    r"(?:page|file|document|site|url|address|content|seite|datei|página|pagina|sida|side|sivu|strona|stránka|oldal"
    r"|страниц|сторінк|sayfa|σελίδα|ページ|页面|頁面|网页|페이지)"
)
_GONE = (
    r"(?:not found|(?:cannot|can't|could not|couldn't) be found|does not exist|doesn't exist"
    r"|no longer (?:exists|available)|nicht gefunden|existiert nicht"
    r"|introuvable|non trouvée|n'existe (?:pas|plus)|no encontrad[ao]|no existe"
    r"|non trovat[ao]|não encontrad[ao]|niet gevonden|bestaat niet|hittades inte|finns inte|ikke funnet|ikke fundet"
    r"|ei löydy|nie znaleziono|nie istnieje|nenalezena|nem található|не найден|не существует|не знайдено|bulunamadi"
    r"|δεν βρέθηκε|見つかりません|找不到|未找到|不存在|찾을 수 없)"
)
# Titles: "404", "Error 404 - example.org", "Page not found | Example", "Not found"; not "Area code 404".
_EDGE, _END = r"(?:^|[-|:\u2013\u2014\u00b7])\W*", r"\W*(?:$|[-|:\u2013\u2014\u00b7])"
_TITLE = re.compile(
    rf"{_EDGE}(?:(?:http|error|erreur|fehler|errore|fout|ошибка)\W*)?404(?:\W*error)?{_END}|404.{{0,40}}{_GONE}"
    rf"|{_PAGE}.{{0,60}}{_GONE}|{_GONE}.{{0,60}}{_PAGE}|^\W*{_GONE}{_END}"
)
_TEXT = re.compile(
    rf"{_PAGE}.{{0,60}}{_GONE}|{_GONE}.{{0,60}}{_PAGE}|404.{{0,40}}{_GONE}|error 404|404 error", re.DOTALL
)


def classify(status: int, headers: Mapping[str, str], at: float) -> tuple[ReplyKind, Limit | None]:
    """Return the kind of an answer (see `model.Reply`), and the limit that it speaks of.

    Args:
        status: the HTTP status.
        headers: compared without case.
        at: the server's clock, or ours without it, Unix seconds.
    """
    if status in (429, 503) and (rest := parse_retry_after(headers, at)) is not None:
        return ReplyKind.WINDOW, Limit(0, LARGEST, at + rest)
    if status == 429:
        return ReplyKind.BACKOFF, None
    if status >= 500 or status in (408, 425):
        return ReplyKind.BROKEN, None
    return (ReplyKind.OK if 200 <= status < 400 else ReplyKind.MISSING), None


def explain_missing(status: int) -> Reason:
    """Return why a page is missing whose server answered another status than 200."""
    return GONE.get(status) or (Reason.PROTECTED if status in CLOSED else Reason.UNKNOWN)


def detect_type(headers: Mapping[str, str], body: bytes) -> str:
    """Return the type of an answer in lower case, without parameters; by its beginning where it does not say."""
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type:
        return content_type
    return "text/html" if body.lstrip()[:1] == b"<" else "application/octet-stream" if body else ""


def decode_page(headers: Mapping[str, str], body: bytes) -> str:
    """Return the text of a page by its byte order mark, its header, its <meta>, else UTF-8.

    What is wrong becomes U+FFFD.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    header = _CHARSET.search(headers.get("content-type", ""))
    if header and (codec := _find_codec(header[1])):
        return body.decode(codec, "replace")
    meta = _META.search(body, 0, 4096)
    codec = _find_codec(meta[1].decode("ascii")) if meta else None
    return body.decode("utf-8" if codec is None or codec.startswith("utf-16") else codec, "replace")


def check_indexing(headers: Mapping[str, str], robots: frozenset[str], agent: str = "socialcrawl") -> tuple[bool, bool]:
    """Return whether a page may be kept, and whether its links may: by X-Robots-Tag and by the page itself."""
    said = set(robots)
    for rule in headers.get("x-robots-tag", "").lower().split(","):
        name, colon, rest = rule.partition(":")
        # "otherbot: noindex" speaks of another; what has a value (max-snippet: 3) is no matter of ours
        said.add(rest.strip() if colon and name.strip() == agent else "" if colon else rule.strip())
    return not said & {"noindex", "none"}, not said & {"nofollow", "none"}


def is_soft_404(title: str, text: str) -> bool:
    """Return whether a page answered with 200 says that it does not exist, in its title or its few words."""
    if len(text) > SHORT:
        return False
    return bool(_TITLE.search(fold(title[:200])) or (len(text) <= BRIEF and _TEXT.search(fold(text))))


def says_not_found(title: str, text: str) -> bool:
    """Return whether a page answered with success does not exist, by LiveRank's rule and that for other languages.

    "Filtered out pages whose title or content have either `Page Not Found` or `Error 404`" (paper 003, section 3.1), in
    any case and however long the page is.
    """
    folded = fold(f"{title}\n{text}")
    return any(words in folded for words in NOT_FOUND) or is_soft_404(title, text)


def _find_codec(name: str) -> str | None:
    """Return a codec of texts that pages are written in, as browsers take its name; None where it is none."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return SUPERSETS.get(found, found) if found in ALPHABETS else None
