import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from socialcrawl.errors import SettingsError
from socialcrawl.lab.generators.generate import UNTIL, WEEK, Generated, choose_topics, draw_usernames, generate, write
from socialcrawl.lab.generators.word_pools import TOPICS

USERS, SEED = 2_000, 7


class Seen:
    """What a reader of the table alone can tell: accounts numbered by first sight, and mentions as rows."""

    def __init__(self, table: pa.Table):
        self.rows = table.to_pylist()
        number: dict[str, int] = {}
        for row in self.rows:
            number.setdefault(row["author"].lower(), len(number))
        self.posters = len(number)
        for row in self.rows:
            for name in row["mentions"]:
                number.setdefault(name, len(number))
        self.number = number
        self.author = np.array([number[row["author"].lower()] for row in self.rows])
        self.lengths = np.array([len(row["mentions"]) for row in self.rows])
        self.source = np.repeat(self.author, self.lengths)
        self.target = np.array([number[name] for row in self.rows for name in row["mentions"]])

    def occurrences(self, keyword: str) -> np.ndarray:
        return np.array([row["text"].lower().count(keyword) for row in self.rows])

    def beta(self, keyword: str) -> np.ndarray:
        return f(np.bincount(self.author, weights=self.occurrences(keyword), minlength=len(self.number)))


def f(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, 1 + np.log(np.maximum(x, 1)), 0)


@pytest.fixture(scope="module")
def generated() -> Generated:
    return generate(USERS, SEED)


@pytest.fixture(scope="module")
def table(generated) -> pa.Table:
    return generated.make_table()


@pytest.fixture(scope="module")
def seen(table) -> Seen:
    return Seen(table)


def communities(generated: Generated, seen: Seen) -> np.ndarray:
    of_name = dict(zip((name.lower() for name in generated.names), generated.people.community, strict=True))
    return np.array([of_name[name] for name in seen.number])


def test_the_same_seed_gives_the_same_bytes(tmp_path, generated, table):
    write(tmp_path / "one.parquet", generated)
    generate(500, 99).make_table()  # a third object in between must not matter
    write(tmp_path / "two.parquet", generate(USERS, SEED))
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert pq.read_table(tmp_path / "one.parquet").equals(table)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.parquet", "two.parquet"]


def test_another_process_with_other_string_hashes_gives_the_same_bytes(tmp_path):
    code = (
        "import sys; from pathlib import Path; from socialcrawl.lab.generators.generate import generate, write;"
        "write(Path(sys.argv[1]), generate(300, 5))"
    )
    for salt in ("1", "2"):
        command = [sys.executable, "-c", code, str(tmp_path / salt)]
        subprocess.run(command, check=True, env={"PYTHONHASHSEED": salt, "PYTHONPATH": ":".join(sys.path)})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_other_seeds_give_other_worlds(generated):
    other = generate(USERS, SEED + 1)
    assert not set(generated.names) & set(other.names[:5])
    assert not generated.make_table().slice(0, 100).equals(other.make_table().slice(0, 100))


def test_batches_of_a_large_world_differ_from_one_another_and_join_in_order():
    first, second = list(generate(2_000, 1, posts_per_user=120).iterate_batches())
    assert first.num_rows == 200_000
    assert first["created_at"][-1].as_py() <= second["created_at"][0].as_py()
    openings = [batch["text"].slice(0, 50).to_pylist() for batch in (first, second)]
    assert openings[0] != openings[1]


def test_the_columns_are_those_of_a_posts_file(table):
    types = {field.name: str(field.type) for field in table.schema}
    assert list(types) == ["author", "created_at", "text", "mentions", "reply_to"]
    assert [types[name] for name in ("author", "created_at", "text", "reply_to")] == [
        "string",
        "int64",
        "string",
        "string",
    ]
    assert table.schema.field("mentions").type.value_type == pa.string()
    assert all(table[name].null_count == 0 for name in ("author", "created_at", "text", "mentions"))


def test_usernames_are_legal_and_unique_without_case():
    names = draw_usernames(60_000, [3])
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,15}", name) for name in names)
    assert any(name != name.lower() for name in names)
    assert not [name for name in names if any(keyword in name.lower() for keyword in choose_topics().values())]


def test_every_user_posts_and_the_mean_is_as_asked(generated, seen):
    assert seen.posters == USERS
    assert len(seen.rows) / USERS == pytest.approx(40, rel=0.03)
    assert len(generated.names) == USERS + round(0.15 * USERS)


def test_activity_has_a_heavy_tail_under_its_cap(seen):
    posts = np.bincount(seen.author)
    low, middle, high, highest = np.quantile(posts, [0.1, 0.5, 0.9, 0.99])
    assert 1 <= low <= 5  # measured 3
    assert 10 <= middle <= 25  # measured 16
    assert high > 4 * middle  # measured 80
    assert highest > 15 * middle  # measured 440
    assert posts.max() <= 3_000


def test_prolific_users_exceed_a_timeline_only_when_asked():
    people = generate(USERS, SEED, prolific=3).people
    assert (people.posts > 3_200).sum() == 3
    assert people.posts.max() <= 5_000


def test_in_degree_has_a_heavy_tail(seen):
    links = np.unique(np.stack([seen.source, seen.target]), axis=1)
    degree = np.bincount(links[1])
    middle, high, highest = np.quantile(degree[degree > 0], [0.5, 0.9, 0.99])
    assert 2 <= middle <= 8  # measured 4
    assert high > 2.2 * middle  # measured 12
    assert highest > 6 * middle  # measured 36
    assert degree.max() > 15 * middle  # measured 234; 94 to 249 with other seeds


def test_some_mentioned_accounts_never_posted(seen):
    mentioned = np.unique(seen.target)
    assert 0.08 < (mentioned >= seen.posters).mean() < 0.18


def test_nobody_mentions_oneself_or_anyone_twice_in_a_post(seen):
    assert not (seen.source == seen.target).any()
    assert all(len(set(row["mentions"])) == len(row["mentions"]) for row in seen.rows)


def test_mentions_stay_in_the_community_far_more_than_chance_would_have_it(generated, seen):
    community = communities(generated, seen)
    inside = (community[seen.source] == community[seen.target]).mean()
    shuffled = np.random.default_rng(0).permutation(seen.target)
    assert 0.6 < inside < 0.9
    assert inside > 6 * (community[seen.source] == community[shuffled]).mean()


def test_homophily_can_be_turned_down(generated):
    def inside(world: Generated) -> float:
        known, owner = world.ties.known, np.repeat(np.arange(len(world.names)), np.diff(world.ties.first))
        return (world.people.community[known] == world.people.community[owner]).mean()

    assert inside(generate(USERS, SEED, homophily=0.0)) < 0.5 * inside(generated)
    assert inside(generate(USERS, SEED, homophily=1.0)) > 0.9


@pytest.mark.parametrize("name", ["astronomy", "gardening", "baking", "chess"])
def test_beta_goes_with_the_beta_of_those_who_mention_one(seen, name):
    beta = seen.beta(choose_topics()[name])
    links = np.unique(np.stack([seen.source, seen.target]), axis=1)
    links = links[:, links[1] < seen.posters]
    degree = np.bincount(links[1], minlength=len(beta))
    met = np.flatnonzero(degree)

    def correlation(values: np.ndarray) -> float:
        mean = np.bincount(links[1], weights=values[links[0]], minlength=len(beta))[met] / degree[met]
        return float(np.corrcoef(beta[met], mean)[0, 1])

    rng = np.random.default_rng(0)
    by_chance = [correlation(np.append(rng.permutation(beta[: seen.posters]), beta[seen.posters :])) for _ in range(20)]
    assert 0.3 < correlation(beta) < 0.9  # a signal, but not the answer
    assert correlation(beta) > 3 * max(map(abs, by_chance))


def test_posts_that_mention_a_topical_user_are_topical_more_often(seen):
    keyword = choose_topics()["astronomy"]
    counts = np.repeat(seen.occurrences(keyword) > 0, seen.lengths)
    topical = seen.beta(keyword)[seen.target] > 0
    assert counts[topical].mean() > 5 * counts[~topical].mean()


def test_a_keyword_is_used_by_a_share_of_users_that_makes_a_crawl_interesting(seen):
    shares = {name: (seen.beta(keyword)[: seen.posters] > 0).mean() for name, keyword in choose_topics().items()}
    popular = sorted(shares.values(), reverse=True)
    assert 0.07 < shares["astronomy"] < 0.15  # measured 0.098
    assert popular[3] > 0.05
    assert all(0.015 < share < 0.15 for share in popular)


def test_the_listed_mentions_are_those_in_the_text(seen):
    for row in seen.rows:
        assert row["mentions"] == [name.lower() for name in re.findall(r"@([A-Za-z0-9_]{1,15})", row["text"])]


def test_replies_begin_with_the_name_of_the_account_replied_to(seen):
    for row in seen.rows:
        begins = re.match(r"@(\w+) ", row["text"])
        assert row["reply_to"] == (begins[1].lower() if begins else None)


def test_texts_have_reposts_hashtags_links_long_ones_and_letters_beyond_ascii(seen):
    texts = [row["text"] for row in seen.rows]
    share = {
        "repost": sum(bool(re.match(r"RT @\w+: \S", text)) for text in texts),
        "hashtag": sum(bool(re.search(r"(^| )#\w+", text)) for text in texts),
        "link": sum("https://example.org/" in text for text in texts),
        "long": sum(len(text) > 280 for text in texts),
        "not ascii": sum(not text.isascii() for text in texts),
    }
    low = {"repost": 0.05, "hashtag": 0.05, "link": 0.05, "long": 0.001, "not ascii": 0.03}
    assert {name: count / len(texts) for name, count in share.items() if count < low[name] * len(texts)} == {}
    assert share["long"] < 0.02 * len(texts)
    assert not [text for text in texts if text != text.strip() or "  " in text or len(text) > 1_000]


def test_times_are_sorted_inside_the_range_and_follow_the_day(table):
    times = table["created_at"].to_numpy()
    assert (np.diff(times) >= 0).all()
    assert UNTIL - 6 * WEEK <= times[0] < UNTIL - 6 * WEEK + 3_600
    assert UNTIL - 3_600 < times[-1] < UNTIL
    hours = np.bincount(times // 3_600 % 24, minlength=24)
    assert hours.max() > 3 * hours.min()


def test_the_range_of_times_may_be_chosen():
    times = generate(300, 1, weeks=1, until=1_000_000_007).schedule.time
    assert times.min() >= 1_000_000_007 - WEEK
    assert times.max() < 1_000_000_007


def test_a_world_without_mentions_and_without_silent_accounts_is_possible():
    table = generate(200, 1, mentions_per_post=0.0, silent=0.0).make_table()
    assert not any(table["mentions"].to_pylist())
    assert "@" not in "".join(table["text"].to_pylist())


@pytest.mark.parametrize("only", [["chess"], ["chess", "tea", "astronomy"]])
def test_a_few_topics_may_be_chosen_for_a_small_world(only):
    text = " ".join(generate(10 * len(only), 1, only=only).make_table()["text"].to_pylist())
    assert [name for name, keyword in choose_topics().items() if keyword in text] == sorted(
        only, key=list(choose_topics()).index
    )


def test_there_are_topics_enough_and_a_keyword_is_part_of_no_other_word():
    assert len(choose_topics()) == len(TOPICS) >= 12
    for topic in TOPICS:
        assert 25 <= len(set(topic.words)) == len(topic.words)
        others = [word for other in TOPICS for word in (*other.words, other.keyword) if other is not topic]
        assert not [word for word in (*others, *topic.words) if topic.keyword in word]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"users": 0}, "users = 0 is out of range; give a number from 160"),
        ({"users": 100}, "or fewer topics"),
        ({"seed": -1}, "seed = -1"),
        ({"posts_per_user": -3.0}, "posts_per_user = -3.0"),
        ({"posts_per_user": float("nan")}, "posts_per_user = nan"),
        ({"mentions_per_post": -0.1}, "mentions_per_post = -0.1"),
        ({"homophily": 1.1}, "homophily = 1.1"),
        ({"silent": -1.0}, "silent = -1.0"),
        ({"prolific": -1}, "prolific = -1"),
        ({"weeks": 0}, "weeks = 0"),
        ({"until": 5}, "until = 5"),
        ({"only": ["chess", "curling"]}, "Unknown topic 'curling'. Did you mean 'cycling'? Choose one of: astronomy, "),
        ({"only": []}, "name at least one topic"),
        ({"only": ["tea", "tea"]}, "each once"),
    ],
    ids=str,
)
def test_a_bad_setting_is_refused_with_what_to_do(settings, message):
    with pytest.raises(SettingsError, match=re.escape(message)):
        generate(**{"users": 500, "seed": 1, **settings})


def test_a_missing_folder_is_refused_with_what_to_do(tmp_path: Path):
    with pytest.raises(SettingsError, match="create it first"):
        write(tmp_path / "nowhere" / "posts.parquet", generate(200, 1))


def test_importing_the_generator_does_not_import_pyarrow():
    code = "import sys, socialcrawl.lab.generators.generate; sys.exit('pyarrow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
