"""A campaign that is rehearsed against a mock of its own export does the same again."""

import json

import pytest
from exported_towns import a_town, exported
from shared_data import needed
from stores import opened
from x_crawls import campaign_of, crawl, posts, posts_file, rows, scratch

from socialcrawl.errors import MockError, PostsFileError
from socialcrawl.lab.exported_campaign import read_export
from socialcrawl.lab.post_table import Posts, read_posts
from socialcrawl.mock.export_world import build_rehearsal
from socialcrawl.mock.server import serve, serve_in_thread
from socialcrawl.mock.server_settings import MockSettings

# By name or id: the numbers of accounts depend on which of several answers arrives first.
STORY = (
    "select p.n, p.batch, p.act, coalesce(lower(a.username), a.platform_id, p.node), a.platform_id, p.score, "
    "p.features, o.value, o.occurrences, o.posts, case when o.missing like 'same-as:%' then 'same' else o.missing end "
    "from pick p left join outcome o using (campaign, n) left join account a on a.node = p.node order by p.n"
)
LINKS = (
    "select l.n, l.position, coalesce(a.platform_id, lower(a.username)), l.alpha "
    "from link l join account a using (node) order by 1, 2"
)


def told(database):
    return rows(database, STORY), rows(database, LINKS)


def rehearsal(world, folder, *, missing=0.0, also=None, **sections):
    """The stories of a campaign in a world, and of the same one in a mock of its export; the export is in `folder`."""
    with serve_in_thread(world, missing=missing) as mock:
        crawl(campaign_of(mock.url, folder / "first.db", **sections))
    with opened(folder / "first.db") as connection:
        exported(connection, folder / "out", "parquet")
    with serve_in_thread(export=folder / "out") as mock:
        crawl(campaign_of(mock.url, folder / "second.db", **sections))
    return told(folder / "first.db"), told(folder / "second.db")


@pytest.mark.parametrize(
    "sections",
    [
        {"crawl": {"estimator": "hybrid-sum", "switch_after": 10, "steps": 60}},
        {"crawl": {"estimator": "random", "refresh_rate": 4}, "source": {"pages_per_user": 1}, "seed": 5},
        {"crawl": {"estimator": "bfs"}, "seeds": {"usernames": ["nobody_knows_me"], "most": 3}},
    ],
)
def test_a_rehearsal_makes_the_same_picks_finds_the_same_and_misses_the_same(tmp_path, sections):
    names = posts().authors
    sections = {**sections, "seeds": {"usernames": [*names[:4], "nobody_x"], **sections.get("seeds", {})}}
    first, second = rehearsal(posts(), tmp_path, missing=0.25, **sections)
    assert first == second
    assert {row[-1] for row in first[0]} >= {None, "suspended", "unknown"}
    assert len(first[0]) > 40


def test_so_it_does_where_only_a_part_of_the_posts_was_read(tmp_path):
    """One page of a timeline and of a search is not all that there is: the second page must not come first."""
    many = posts(60, 3, 150.0)
    first, second = rehearsal(many, tmp_path, source={"pages_per_user": 1}, crawl={"steps": 25})
    assert first == second
    assert max(row[-2] for row in first[0]) == 100


def test_a_campaign_that_was_given_answers_of_another_is_rehearsed_too(tmp_path):
    with serve_in_thread(posts(), missing=0.2) as mock:
        crawl(campaign_of(mock.url, tmp_path / "a.db", name="before", crawl={"steps": 20}))
        crawl(campaign_of(mock.url, tmp_path / "a.db", name="after", crawl={"steps": 40}))
    assert rows(tmp_path / "a.db", "select count(*) from request where kind = 'held'")[0][0] > 10
    with opened(tmp_path / "a.db") as connection:
        exported(connection, tmp_path / "out", campaign="after")
    with serve_in_thread(export=tmp_path / "out") as mock:
        crawl(campaign_of(mock.url, tmp_path / "b.db", name="after", crawl={"steps": 40}))
    only = STORY.replace(" order by", " where p.campaign = (select max(id) from campaign) order by")
    assert rows(tmp_path / "a.db", only) == rows(tmp_path / "b.db", only)


def test_a_rehearsal_may_go_on_where_the_campaign_ended(tmp_path):
    first, _ = rehearsal(posts(), tmp_path, crawl={"steps": 15})
    with serve_in_thread(export=tmp_path / "out") as mock:
        crawl(campaign_of(mock.url, tmp_path / "longer.db", crawl={"steps": 30}))
    longer, _ = told(tmp_path / "longer.db")
    assert longer[: len(first[0])] == first[0]
    assert len(longer) > len(first[0])


def test_names_stand_in_the_order_in_which_they_came_and_not_in_that_of_the_text(tmp_path):
    with a_town(tmp_path) as connection:
        exported(connection, tmp_path / "out")
    export = read_export(tmp_path / "out")
    world = build_rehearsal(export)
    row = {node: place for place, (node, *_) in enumerate(export.accounts)}
    order = {}
    for post, node, _, _ in sorted(export.mentions, key=lambda mention: mention[3]):
        order.setdefault(post, []).append(row[node])
    assert len(order) > 20
    keys = sorted((post[0] for post in export.posts), key=lambda key: (len(key), key))
    assert [world.mentions.of(place).tolist() for place, _ in enumerate(keys)] == [order.get(key, []) for key in keys]


def test_real_posts_are_rehearsed(tmp_path):
    real = read_posts(needed("data/ubuntu_irc.parquet"))
    first, second = rehearsal(real, tmp_path, missing=0.1, topic={"keywords": ["kernel"]}, crawl={"steps": 30})
    assert first == second


def test_what_cannot_be_rehearsed_is_refused_in_a_sentence(tmp_path):
    with a_town(tmp_path) as connection:
        exported(connection, tmp_path / "csv", "csv")
        exported(connection, tmp_path / "hidden", key=b"k" * 32)
    (tmp_path / "none").mkdir()
    (tmp_path / "several").mkdir()
    sheet = json.loads((tmp_path / "csv/datasheet.json").read_text())
    sheet["campaigns"] *= 2
    (tmp_path / "several/datasheet.json").write_text(json.dumps(sheet))
    for folder, words in (
        ("none", "is not an export"),
        ("several", "holds 2 campaigns"),
        ("hidden", "pseudonymised"),
        ("csv", "--format parquet"),
    ):
        with pytest.raises(PostsFileError, match=words):
            read_export(tmp_path / folder)
    with pytest.raises(MockError, match="remove --posts"):
        MockSettings(posts=posts_file(), export=tmp_path)
    with pytest.raises(MockError, match="nothing to show"):
        serve(MockSettings())


def test_exported_posts_are_a_world_of_their_own_too(tmp_path):
    """`socialcrawl mock --posts posts.parquet`: replies to posts that the file does not have answer nobody."""
    folder = scratch()
    with serve_in_thread(posts(), missing=0.2) as mock:
        crawl(campaign_of(mock.url, folder / "first.db"))
    with opened(folder / "first.db") as connection:
        exported(connection, folder / "out", "csv")
    read = read_posts(folder / "out" / "posts.csv")
    assert isinstance(read, Posts)
    known = {key for (key,) in rows(folder / "first.db", "select id from post")}
    assert set(read.ids) == known
    assert {key for key in read.reply_to if key is not None} <= known
    with serve_in_thread(folder / "out" / "posts.csv") as mock:
        crawl(campaign_of(mock.url, folder / "second.db"))
    assert rows(folder / "second.db", "select count(*) from outcome where value > 0")[0][0] > 5


def test_the_id_of_a_post_that_a_file_lacks_is_nobodys_name(tmp_path):
    path = tmp_path / "posts.csv"
    ids = [str(1_700_000_000_000_000_000 + number) for number in range(3)]
    lines = [
        f"ann,{ids[0]},1700000000,hi,",
        f"bob,{ids[1]},1700000001,yes,{ids[0]}",
        f"cy,{ids[2]},1700000002,no,{ids[2][:-1]}9",
    ]
    path.write_text("\n".join(["author,id,created_at,text,reply_to", *lines, "di,7,1700000003,hm,12345"]))
    assert read_posts(path).reply_to == [None, ids[0], None, "12345"]
