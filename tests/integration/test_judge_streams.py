"""Clients written by others read the mock's streams: each receives what a scan of the file gives, and nothing else."""

import re
import threading

import atproto
import requests
from atproto import models
from bluesky_mock import START
from mastodon import Mastodon, StreamListener
from stream_clients import PATIENCE, rows_of, streaming

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
        streamed.move(START + 35.0)
        while not listener.texts:
            listener.is_over.wait(0.01)
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
