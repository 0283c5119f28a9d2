"""The documented questions about campaigns of each kind, beside what plain Python counts in the bare tables."""

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from math import log

import pytest
from kind_campaigns import LIMIT, make_sample, make_track
from x_crawls import campaign_of, crawl, posts_file

from socialcrawl.campaign.settings import check_settings
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.schema.questions import QUESTIONS

READS = ("seed", "expand", "match", "page", "recrawl", "walk")
STEPS = ("expand", "match", "probe", "walk")


def make_collect(path):
    """A campaign whose search finds posts of accounts that it does not read, and that reads many that are off topic."""
    with serve_in_thread(posts_file(), limit=LIMIT) as mock:
        crawl(campaign_of(mock.url, path, crawl={"steps": 120}))


def make_capture(path):
    """A campaign that captures the posts of a day."""
    with serve_in_thread(posts_file(), limit=LIMIT) as mock:
        whole = campaign_of(mock.url, path).model_dump(mode="python", by_alias=True, exclude_unset=True)
        del whole["seeds"], whole["crawl"]
        span = {"from": "2025-12-20", "until": "2025-12-21"}
        crawl(check_settings({**whole, "kind": "capture", "capture": span}, "test"))


class Stored:
    """The answers to the questions, and the bare tables, as dicts."""

    def __init__(self, path):
        with closing(sqlite3.connect(path)) as plain:
            plain.row_factory = sqlite3.Row
            ask = lambda sql: [dict(row) for row in plain.execute(sql)]  # noqa: E731
            self.answers = {one.name: ask(one.sql) for one in QUESTIONS}
            self.picks = {row["n"]: row for row in ask("select * from pick")}
            self.outcomes, self.links = ask("select * from outcome order by n"), ask("select * from link")
            self.requests = ask("select * from request where coalesce(kind, '') <> 'held'")
            self.names = {row["node"]: row["username"] or row["platform_id"] for row in ask("select * from account")}
            self.posts = ask("select p.*, h.occurrences from post p left join hit h on h.post = p.id")
            self.mentions = {(row["post"], row["node"]) for row in ask("select * from mention")}
        self.on_topic = [row for row in self.posts if row["occurrences"]]
        self.read = {
            row["node"] for row in self.outcomes
            if row["missing"] is None and row["node"] >= 0 and self.act(row) in READS
        }  # fmt: skip
        self.captured = any(pick["act"] == "slice" for pick in self.picks.values())

    def act(self, outcome):
        return self.picks[outcome["n"]]["act"]

    def find_pairs(self):
        """(who, whom): posts; who was read, or came with a walk's search of mentions."""
        author = {row["id"]: row["author"] for row in self.posts}
        inward = {
            (link["node"], self.picks[link["n"]]["node"])
            for link in self.links
            if self.picks[link["n"]]["act"] == "inward"
        }
        all_pairs = Counter((author[post], node) for post, node in self.mentions if author[post] != node)
        return {pair: posts for pair, posts in all_pairs.items() if pair[0] in self.read or pair in inward}


KINDS = make_collect, make_track, make_sample, make_capture


@pytest.fixture(scope="module", params=KINDS, ids=lambda one: one.__name__)
def stored(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds") / "campaign.db"
    request.param(path)
    return Stored(path)


def test_the_accounts_that_matter_most_are_those_read_with_most_occurrences(stored):
    said = Counter()
    for post in stored.on_topic:
        if post["author"] in stored.read:
            said[stored.names[post["author"]]] += post["occurrences"]
    rows = stored.answers["best_accounts"]
    assert [row["place"] for row in rows] == list(range(1, min(20, len(said)) + 1))
    assert {row["account"]: row["occurrences"] for row in rows}.items() <= said.items()
    if any(pick["act"] == "walk" for pick in stored.picks.values()):
        assert {row["relevance"] for row in rows} == {1.0}
    else:
        assert [row["occurrences"] for row in rows] == sorted(said.values(), reverse=True)[:20]
        assert [row["relevance"] for row in rows] == pytest.approx([1 + log(row["occurrences"]) for row in rows])


def test_days_count_posts_of_accounts_read_and_others_apart(stored):
    days = defaultdict(lambda: [0, set(), 0, 0])
    for post in stored.on_topic:
        day = days[post["created_at"][:10]]
        if post["author"] in stored.read or stored.captured:
            day[0], day[2] = day[0] + 1, day[2] + post["occurrences"]
            day[1].add(post["author"])
        else:
            day[3] += 1
    rows = stored.answers["topic_by_day"]
    assert [(row["day"], row["posts"], row["authors"], row["occurrences"], row["only_searched"]) for row in rows] == [
        (name, posts, len(authors), occurrences, other)
        for name, (posts, authors, occurrences, other) in sorted(days.items())
    ]
    assert rows


def test_the_loudest_posts_are_those_with_most_occurrences(stored):
    wanted = sorted(stored.on_topic, key=lambda row: (-row["occurrences"], -(row["likes"] or 0), row["id"]))[:20]
    assert [(row["text"], row["occurrences"]) for row in stored.answers["loudest_posts"]] == [
        (row["text"], row["occurrences"]) for row in wanted
    ]


def test_whoever_is_mentioned_is_counted_once_by_account_and_known_to_be_read_or_not(stored):
    pairs = stored.find_pairs()
    accounts = Counter(stored.names[target] for _, target in pairs)
    posts = Counter()
    for (_, target), count in pairs.items():
        posts[stored.names[target]] += count
    said = Counter(stored.names[row["author"]] for row in stored.on_topic)
    read = {stored.names[node] for node in stored.read}
    rows = stored.answers["most_mentioned"]
    assert [row["accounts"] for row in rows] == [count for _, count in accounts.most_common(20)]
    for row in rows:
        who = row["target"]
        assert (row["accounts"], row["posts"]) == (accounts[who], posts[who])
        assert (row["was_read"], row["own_posts_on_topic"]) == ("yes" if who in read else "no", said[who])


def test_mutual_mentions_are_of_pairs_and_each_is_there_once(stored):
    pairs = stored.find_pairs()
    both = {(one, other) for one, other in pairs if one < other and (other, one) in pairs}
    rows = stored.answers["mutual_mentions"]
    assert len({(row["source"], row["target"]) for row in rows}) == len(rows) == min(20, len(both))
    named = {(stored.names[one], stored.names[other]): (pairs[one, other], pairs[other, one]) for one, other in both}
    assert {(row["source"], row["target"]): (row["there"], row["back"]) for row in rows}.items() <= named.items()
    most = sorted((sum(counts) for counts in named.values()), reverse=True)[:20]
    assert [row["there"] + row["back"] for row in rows] == most


def test_what_was_found_and_spent_ends_with_what_the_ledger_has(stored):
    rows = stored.answers["yield_by_steps"]
    steps = sum(pick["act"] in STEPS for pick in stored.picks.values())
    price = sum(row["most"] if row["cost"] is None else row["cost"] for row in stored.requests) / 100_000
    last = rows[-1]
    assert [row["steps"] for row in rows] == [*range(0, steps, 100), steps]
    assert (last["requests"], last["dollars"]) == (len(stored.requests), pytest.approx(price))
    days = stored.answers["cost_by_day"]
    assert sum(row["requests"] for row in days) == len(stored.requests)
    assert sum(row["dollars"] for row in days) == pytest.approx(price)
    assert sum(row["posts"] for row in days) == sum(row["posts"] or 0 for row in stored.requests)


def test_estimates_are_compared_by_quarters_of_their_scores(stored):
    scored = sorted(
        (stored.picks[row["n"]]["score"], row["n"], row["value"])
        for row in stored.outcomes
        if row["missing"] is None and stored.act(row) in ("expand", "match")
    )
    rows = stored.answers["estimate_and_truth"]
    assert [row["quarter"] for row in rows] == [1, 2, 3, 4][: len(scored)]
    for row in rows:
        part, scored = scored[: row["steps"]], scored[row["steps"] :]
        scores, _, values = zip(*part, strict=True)
        assert row["mean_score"] == pytest.approx(sum(scores) / len(part))
        assert row["mean_relevance"] == pytest.approx(sum(values) / len(part))
        assert row["share_relevant"] == pytest.approx(sum(value > 0 for value in values) / len(part))
    assert scored == []


def test_what_is_missing_has_whoever_was_seen_and_not_read(stored):
    missing = {(row["gap"], row["why"]): row["size"] for row in stored.answers["what_is_missing"]}
    tried = {row["node"] for row in stored.outcomes if stored.act(row) in READS and row["missing"] != "temporary"}
    mentioned = {target for _, target in stored.find_pairs()} - tried
    unread = set() if stored.captured else {row["author"] for row in stored.on_topic} - stored.read
    assert missing.get(("account", "mentioned, not read"), 0) == len(mentioned)
    assert missing.get(("account", "found by a search, not read"), 0) == len(unread)
    frontier = stored.answers["next_accounts"]
    assert {row["account"] for row in frontier} <= {stored.names[node] for node in mentioned}
    assert len(frontier) == min(20, len(mentioned))
