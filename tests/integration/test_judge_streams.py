"""Clients written by others read the mock's streams: each receives what a scan of the file gives, and nothing else."""

import re
import threading
import time

import atproto
import pytest
import requests
import tweepy
import xdk
from atproto import models
from bluesky_mock import START
from mastodon import Mastodon, StreamListener
from stream_clients import PATIENCE, rows_of, streaming
from twarc.client2 import Twarc2
from twarc.expansions import ensure_flattened
from xdk.stream.models import UpdateRulesRequest
from xdk.streaming import StreamConfig

from socialcrawl.testing.social_api import MockAdapter

EVER = {"replay": float("inf")}
ROWS = rows_of(120)


def texts_of(rows):
    """The texts of the file's own posts in order of time, without those that repeat others."""
    return [row.text for row in sorted(rows, key=lambda row: row.at) if not row.text.startswith("RT @")]


def test_the_jetstream_client_of_atproto_receives_the_posts_of_the_file_and_resumes():
    with streaming(ROWS, **EVER) as streamed:
        told = []

        def read(most, **params):
            client = atproto.JetstreamClient(
                models.NetworkBskyJetstreamSubscribeEvents.Params(collections=["app.bsky.feed.post"], **params),
                base_uri=streamed.socket_url + "/xrpc",
            )

            def take(message):
                told.append(message)
                if message.record.text == ROWS[-1].text or len(told) == most:
                    client.stop()

            client.start(take)
            client._xrpc_client.request.close()  # with which it asked for a dictionary; it has no way to close it
            return client

        first = read(50, cursor=1)
        assert (len(told), first.compressed) == (50, False)
        read(None, cursor=first.cursor + 1)
    assert [message.record.text for message in told] == texts_of(ROWS)
    assert all(isinstance(message.record, models.AppBskyFeedPost.Record) for message in told)
    assert {message.operation for message in told} == {"create"}
    replies = [message for message in told if message.record.reply is not None]
    assert len(replies) == sum(row.answers is not None for row in ROWS)


def wait_until(come):
    """Wait until something has come, at most PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not come():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.01)


class Listener(StreamListener):
    """What Mastodon.py receives: the texts of posts, and the ids of deleted ones, to the last post of the file."""

    def __init__(self):
        self.texts, self.deleted, self.heartbeats, self.is_over = [], [], 0, threading.Event()

    def on_update(self, status):
        self.texts.append(re.sub("<[^>]*>", "", status.content))
        if self.texts[-1] == ROWS[-1].text:
            self.is_over.set()

    def on_delete(self, status_id):
        self.deleted.append(str(status_id))

    def handle_heartbeat(self):
        self.heartbeats += 1


def test_mastodon_py_receives_a_hashtag_from_the_place_that_the_instance_names():
    with streaming(ROWS, begin=START - 1.0, heartbeat=0.05) as streamed:
        session = requests.Session()
        client = Mastodon(access_token="t", api_base_url=streamed.url, session=session)
        assert client.stream_healthy()
        listener = Listener()
        handle = client.stream_hashtag("rust", listener, run_async=True)
        wait_until(lambda: listener.heartbeats)  # which come once the instance streams: before, posts would be missed
        streamed.move(START + 35.0)
        wait_until(lambda: listener.texts)
        tagged = client.timeline_hashtag("rust")
        [number] = _find(streamed, "note 0 about rust")
        streamed.fail({"kind": "delete", "post": number})
        streamed.end()
        assert listener.is_over.wait(PATIENCE)
        handle.close()
        session.close()
    assert listener.texts == [text for text in texts_of(ROWS) if "#rust" in text]
    assert listener.deleted == [str(tagged[-1].id)]
    assert listener.heartbeats > 0


def _find(streamed, text):
    """The ids on X of the posts with a text."""
    query = {"query": f'"{text}"', "start_time": "2023-01-01T00:00:00Z"}
    return [post["id"] for post in streamed.admin.get("/2/tweets/search/all", params=query).json()["data"]]


X_ROWS = [
    row._replace(id=str(9_000_000 + n), answers=None) for n, row in enumerate(sorted(ROWS, key=lambda row: row.at))
]


def matching(word, author):
    """The texts of the posts, reposts too, that have a word or are an author's, in order of time."""
    return [row.text for row in X_ROWS if word in re.findall(r"\w+", row.text) or row.author == author]


@pytest.fixture
def live():
    with streaming(X_ROWS, begin=START - 1.0, heartbeat=0.05) as streamed:
        yield streamed


def test_tweepy_adds_rules_and_receives_what_matches(live):
    class Stream(tweepy.StreamingClient):
        def __init__(self):
            super().__init__("TOKEN")
            self.session.mount("https://api.twitter.com", MockAdapter(live.url))
            self.told, self.alive, self.problems = [], 0, []

        def on_connect(self):
            live.end()

        def on_response(self, response):
            self.told.append(response)
            if response.data.text == X_ROWS[-1].text:
                self.disconnect()

        def on_keep_alive(self):
            self.alive += 1

        def on_errors(self, errors):
            self.problems.append(errors)

    stream = Stream()
    made = stream.add_rules([tweepy.StreamRule("rust", tag="about rust"), tweepy.StreamRule("from:author3")])
    assert [rule.value for rule in stream.get_rules().data] == ["rust", "from:author3"]
    assert stream.add_rules(tweepy.StreamRule("rust")).errors[0]["title"] == "DuplicateRule"
    stream.filter(expansions=["author_id"], tweet_fields=["created_at"])
    assert [one.data.text for one in stream.told] == matching("rust", "author3")
    assert {rule.id for one in stream.told for rule in one.matching_rules} == {rule.id for rule in made.data}
    assert all(one.includes["users"][0].id == one.data.author_id for one in stream.told)
    assert stream.problems == []
    ids = [rule.id for rule in made.data]
    assert stream.delete_rules(ids).meta["summary"]["deleted"] == 2
    stream.session.close()


def test_twarc_adds_rules_and_receives_what_matches(live):
    class Local(Twarc2):
        def connect(self):
            super().connect()
            self.client.mount("https://api.twitter.com", MockAdapter(live.url))

    client = Local(bearer_token="TOKEN")
    added = client.add_stream_rules([{"value": "rust", "tag": "about rust"}, {"value": "from:author3"}])
    assert client.get_stream_rules()["data"] == added["data"]
    event, told = threading.Event(), []
    for page in client.stream(event=event, record_keepalive=True):
        if page == "keep-alive":  # it is connected
            live.end()
            continue
        told += ensure_flattened(page)
        if told[-1]["text"] == X_ROWS[-1].text:
            event.set()
    assert [post["text"] for post in told] == matching("rust", "author3")
    assert {post["author"]["username"] for post in told} <= {row.author for row in X_ROWS}
    assert client.delete_stream_rule_ids([rule["id"] for rule in added["data"]])["meta"]["summary"]["deleted"] == 2
    assert "data" not in client.get_stream_rules()
    client.client.close()


def test_xdk_adds_rules_and_receives_what_matches(live):
    client = xdk.Client(base_url=live.url, bearer_token="TOKEN")
    added = client.stream.update_rules(UpdateRulesRequest(add=[{"value": "rust"}, {"value": "from:author3"}]))
    assert added.meta.summary["created"] == 2
    told = []
    for message in client.stream.posts(stream_config=StreamConfig(on_connect=live.end, max_retries=0)):
        told.append(message.data.text)
        if told[-1] == X_ROWS[-1].text:
            break
    assert told == matching("rust", "author3")
    client.session.close()
