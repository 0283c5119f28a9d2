"""What the tests of the search share: posts with chosen texts in a store, and which of them a search finds."""

from sqlalchemy import update

from socialcrawl.engine.model import Page, PostRow, format_time
from socialcrawl.storage.post_search import index
from socialcrawl.storage.post_search.reading import PostFilter, find_posts
from socialcrawl.storage.schema.tables import post
from socialcrawl.text.post_query import parse_query

BEGIN = 1_700_000_000


def post_row(key, text, at=BEGIN, author="1000"):
    created = None if at is None else format_time(at)
    return PostRow(str(key), author, created, text, "en", *[None] * 13)


def page_of_texts(texts, at=BEGIN, first=0):
    """A page of posts whose ids are numbers from `first` on; each a second later than the one before."""
    rows = [post_row(first + place, text, at + place) for place, text in enumerate(texts)]
    return Page(rows, [0] * len(rows), [])


def index_all(store):
    """The number of posts taken into the index of a store's database, which is made if there is none."""
    return list(index.update_index(store.connection))[-1]


def find(store, query, most=None, **among):
    """The ids of the posts that a query finds, in their order."""
    return [key.id for key in find_posts(store.connection, parse_query(query), PostFilter(**among), most)]


def change_text(store, key, text):
    with store.connection.begin():
        store.connection.execute(update(post).where(post.c.id == key).values(text=text))
