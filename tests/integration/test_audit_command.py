"""What a sample says of collected datasets: every number of `socialcrawl audit` against the truth of a known world."""

import csv
import json
import shutil

import numpy as np
import pytest
import typer
from audit_worlds import WORD, crawled, key_of, looking, read_by, sample_of, searched_by, world
from stores import a_database, opened
from typer.testing import CliRunner
from walk_graphs import both
from x_crawls import campaign_of, crawl, posts, rows

from socialcrawl.cli.commands.audit import build_object, read_accounts
from socialcrawl.cli.definitions.datasets import audit
from socialcrawl.crawls.sample.audit_report import BEYOND, OUTSIDE, audit_datasets
from socialcrawl.crawls.sample.communities import find_communities
from socialcrawl.crawls.sample.holdings import TOGETHER, AccountList
from socialcrawl.crawls.sample.neighbour_lists import NeighbourLists
from socialcrawl.crawls.sample.report import fold_sample
from socialcrawl.engine.model import Who
from socialcrawl.errors import PostsFileError, SettingsError, StoreError
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.sample_report import format_percent
from socialcrawl.storage.queries.holdings import find_nodes

app = typer.Typer()
app.command()(audit)


@pytest.fixture(scope="module")
def found():
    with looking(crawled()) as traces:
        return audit_datasets(traces, sample_of(None, crawled()))


def file_of(folder, database, name="sample", **sections):
    """A campaign file of the sample, or of another campaign, in a folder."""
    words = {"kind": "sample", "steps": 2000, "more": "[sample]\nwalkers = 8\nburn_in = 20\nlength = 1500", **sections}
    file = folder / f"{name}.toml"
    file.write_text(
        f'name = "{name}"\nkind = "{words["kind"]}"\ndatabase = "{database}"\n[topic]\nkeywords = ["{WORD}"]\n'
        f"[seeds]\nmost = 10\n[crawl]\nsteps = {words['steps']}\n{words['more']}\n",
        "utf-8",
    )
    return file


def asked(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def share_of(names):
    """The true share of the topic, as far as walks reach, that some accounts are."""
    topic = world().reached(WORD)
    return len(names & topic) / len(topic)


def stuck(place=None):
    """Who on topic hangs on no others there, as far as the sample has read them: one of its walks stays there."""
    return (read_by(place or crawled(), "sample") & world().speakers(WORD)) - world().reached(WORD)


@pytest.mark.parametrize("name", ["small", "other", TOGETHER])
def test_the_share_held_and_the_size_of_the_topic_are_the_true_ones(found, name):
    (one,) = [one for one in found.datasets if one.name == name]
    campaigns = ["small", "other"] if name == TOGETHER else [name]
    read = set().union(*(read_by(crawled(), campaign) for campaign in campaigns))
    assert one.read == len(read)
    assert one.found.on_topic == len((read & world().speakers(WORD)) - stuck())
    assert one.found.share.contains(share_of(read))
    assert one.found.share.width < 0.25
    assert one.found.size.contains(len(world().reached(WORD)))
    assert one.found.lacking == one.found.size.value - one.found.on_topic


def test_what_is_not_held_is_within_reach_or_beyond_as_the_links_of_what_is_held_say(found):
    one = found.datasets[0]
    topic, read = world().reached(WORD), read_by(crawled(), "small")
    near = set().union(*(world().mentions[name] for name in read)) - read
    assert one.found.reach.contains(len(near & topic) / len(topic))
    assert one.found.beyond.contains(len(topic - near - read) / len(topic))
    assert one.found.reach.value + one.found.beyond.value + one.found.share.value == pytest.approx(1.0)
    assert one.outlook.pays == (
        None if one.found.reach.low < 0.1 <= one.found.reach.high else one.found.reach.low >= 0.1
    )
    assert 0.0 < one.outlook.rate <= 1.0


def test_the_search_covers_what_the_searches_of_both_campaigns_found(found):
    one = found.datasets[0]
    told, topic = searched_by(crawled(), "sample", "small"), world().reached(WORD)
    read = read_by(crawled(), "small")
    assert one.found.search.found.contains(len(told & topic) / len(topic))
    assert one.found.search.held.contains(len(told & read & topic) / len(read & topic))
    assert one.found.search.only.contains(len((told - read) & topic) / len(topic))
    assert one.found.search.neither.contains(len(topic - told - read) / len(topic))


def test_who_of_a_campaign_on_another_topic_is_on_this_one_is_told_by_its_posts(found):
    one = found.datasets[1]
    assert one.name == "other"
    assert any("its topic is another" in note for note in one.notes)
    assert not any("its topic is another" in note for note in found.datasets[0].notes)


def test_accounts_that_no_walk_on_topic_may_reach_are_counted_in_a_note(tmp_path):
    speakers = world().speakers(WORD)
    linked = {a for a in speakers for b in speakers if b in world().mentions[a] or a in world().mentions[b]}
    (lonely,) = (read_by(crawled(), "small") & speakers) - linked
    place = tmp_path / "a.db"
    shutil.copy(crawled(), place)
    with opened(place) as connection, connection.begin():  # the sample could not read it
        connection.exec_driver_sql(
            "update outcome set missing = 'deleted' where campaign = (select id from campaign where name = 'sample') "
            "and node in (select node from account where platform_id = ? or handle = ?)",
            (key_of(lonely), lonely),
        )
    with looking(place) as traces:
        (one,) = audit_datasets(traces, sample_of(None, place), of=["small"]).datasets
    (note,) = one.notes
    assert note.startswith("1 on-topic account of it has no known link")
    assert one.found.on_topic == len(read_by(place, "small") & speakers)


def test_accounts_in_parts_of_the_topic_that_the_sample_leaves_out_are_no_part_of_its_size_and_are_named(found):
    assert len(stuck()) == 1
    assert stuck() <= read_by(crawled(), "small")
    one = found.datasets[0]
    (note,) = one.notes
    assert note.startswith("1 of its on-topic accounts are in parts of the topic that the sample leaves out")
    assert [(part.accounts, part.walks, part.counts) for part in found.parts] == [
        (len(read_by(crawled(), "sample") & world().reached(WORD)), 7, True),
        (1, 1, False),
    ]
    assert one.found.size.value == one.found.on_topic / one.found.share.value


def test_a_campaign_of_another_database_is_audited_as_one_of_the_same(found, tmp_path):
    apart, alone = tmp_path / "apart.db", tmp_path / "alone.db"
    for place, kept in ((apart, ("small", "other")), (alone, ("sample",))):
        shutil.copy(crawled(), place)
        with opened(place) as connection, connection.begin():
            for table in ("pick", "outcome", "link"):
                for name in {"small", "other", "sample"} - {*kept}:
                    connection.exec_driver_sql(
                        f"delete from {table} where campaign = (select id from campaign where name = '{name}')"
                    )
    with opened(apart) as connection, connection.begin():  # nobody has the number that the sample's database has
        for table, column in (("pick", "node"), ("outcome", "node"), ("link", "node"), ("account", "node")):
            connection.exec_driver_sql("pragma foreign_keys = off")
            connection.exec_driver_sql(f"update {table} set {column} = {column} + 100000 where {column} >= 0")
        connection.exec_driver_sql("update post set author = author + 100000")
    with looking(alone) as traces, looking(apart) as others:
        two = audit_datasets(traces, sample_of(None, alone), others, ["small", "other"])
    for one, same in zip(two.datasets, found.datasets, strict=True):
        assert (one.name, one.read, one.found.on_topic) == (same.name, same.read, same.found.on_topic)
        assert one.found.share == same.found.share
        assert one.found.reach == same.found.reach


def test_a_list_of_accounts_is_audited_and_strangers_in_it_are_taken_to_be_on_topic(tmp_path):
    topic = sorted(world().reached(WORD))
    some, off = topic[::3], sorted(read_by(crawled(), "sample") - world().speakers(WORD))[:4]
    list_ = tmp_path / "list.txt"
    list_.write_text("\n".join([*map(key_of, [*some, *off]), "999"]), "utf-8")
    with looking(crawled()) as traces:
        (one,) = audit_datasets(traces, sample_of(None, crawled()), held={"mine": read_accounts(list_, "x")}).datasets
        names = {"mine": AccountList([Who(None, name) for name in some])}
        named = audit_datasets(traces, sample_of(None, crawled()), held=names).datasets
    assert (one.read, one.outlook) == (len(some) + len(off) + 1, None)
    unread = len(set(some) - read_by(crawled(), "sample") - read_by(crawled(), "small") - read_by(crawled(), "other"))
    assert one.found.on_topic == len(some) + 1
    assert one.notes[0].startswith(f"{unread + 1} of its accounts were never read here: they are taken to be on topic")
    assert len(one.notes) == 1
    assert one.found.share.contains(len(some) / len(topic))
    share, sure = one.found.share, len(some) - unread
    assert one.found.size.value == pytest.approx((len(some) + 1) / share.value)
    assert one.found.size.low == pytest.approx(max(sure, sure / share.high))
    assert "are known by their ids only: a list of names cannot hold them, so give ids" in named[0].notes[-1]


def everybody():
    """Everybody in the world but the speakers to whom no walk comes, of whom samples say less."""
    return set(world().names.values()) - (world().speakers(WORD) - world().reached(WORD))


@pytest.fixture
def crowd(tmp_path):
    """A list of everybody and of as many strangers, so that most of it were never read."""
    file, lines = tmp_path / "crowd.txt", list(map(key_of, everybody()))
    file.write_text("\n".join([*lines, *(str(9_000_000 + i) for i in range(len(lines)))]), "utf-8")
    return file


def read_in_crowd():
    return set().union(*(read_by(crawled(), name) for name in ("sample", "small", "other"))) & everybody()


def test_of_a_list_that_mostly_nobody_read_the_size_of_the_topic_is_not_known_but_the_share_is(crowd, tmp_path):
    file = file_of(tmp_path, crawled())
    (one,) = json.loads(asked(file, "--held", crowd, "--json").stdout)["datasets"]
    found, read, whole = one["found"], read_in_crowd(), 2 * len(everybody())
    sure = len(read & world().speakers(WORD))
    sure += (told := found["on_topic"] - sure)  # of whom a post was found that mentions somebody else
    assert 0 <= told <= len(world().reached(WORD) - read)
    assert (one["read"], found["share"]["value"]) == (whole, 1.0)
    assert (found["size"]["value"], found["lacking"]) == (None, None)
    assert found["size"]["low"] <= len(world().reached(WORD)) <= found["size"]["high"]
    assert found["size"]["high"] >= whole - len(read) - told + sure
    assert one["notes"][0].startswith(f"{whole - len(read) - told:,} of its {whole:,} accounts were never read here")
    text = " ".join(asked(file, "--held", crowd).stdout.split())
    assert "accounts in the topic not known (" in text
    assert "how many accounts the topic has is not known, only that they are" in text
    assert "are not held" not in text


def test_the_accounts_of_a_list_can_be_said_to_be_on_topic_but_for_those_that_were_read_and_are_not(crowd, tmp_path):
    file = file_of(tmp_path, crawled())
    (one,) = json.loads(asked(file, "--held", crowd, "--on-topic", "--json").stdout)["datasets"]
    off = len(read_in_crowd() - world().speakers(WORD))
    assert one["found"]["on_topic"] == 2 * len(everybody()) - off
    assert one["notes"][0].endswith("they are taken to be on topic, as is said of the file")
    assert one["notes"][1] == f"{off:,} of its accounts are off topic by what was read of them, and count as that"
    refused = asked(file, "--on-topic")
    assert isinstance(refused.exception, SettingsError)
    assert "name one with --held" in str(refused.exception)


def test_whoever_was_never_read_is_judged_by_the_posts_that_the_file_has_of_them(tmp_path):
    file, held = file_of(tmp_path, crawled()), tmp_path / "posts.csv"
    authors = everybody() & world().texts.keys()
    lines = [[key_of(name), name, "2026-01-01", text] for name in authors for text in world().texts[name]]
    with held.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([["author_id", "author", "created_at", "text"], *lines])
    (one,) = json.loads(asked(file, "--held", held, "--json").stdout)["datasets"]
    assert one["read"] == len(authors)
    assert one["found"]["on_topic"] == len(world().reached(WORD))
    assert one["found"]["size"]["low"] <= len(world().reached(WORD)) <= one["found"]["size"]["high"]
    assert not [note for note in one["notes"] if "never read" in note]


def test_a_note_says_which_accounts_of_a_file_are_counted(tmp_path):
    """The table of picks and that of posts, of one export, name different accounts."""
    file = file_of(tmp_path, crawled())
    with opened(crawled()) as connection:
        export(connection, tmp_path / "out", ExportOptions("small", formats=("csv",)), 1_800_000_000.0)
    (tmp_path / "ids.txt").write_text("".join(f"{key_of(name)}\n" for name in sorted(everybody())[:30]), "utf-8")
    said = {}
    for name, column in {"posts.csv": "author_id", "picks.csv": "account", "links.csv": "", "accounts.csv": ""}.items():
        held = tmp_path / "out" / name
        (one,) = json.loads(asked(file, "--held", held, "--json").stdout)["datasets"]
        (said[name],) = [note for note in one["notes"] if note.startswith("the audit counts")]
        if column:
            with held.open(encoding="utf-8", newline="") as text:
                assert one["read"] == len({row[column] for row in csv.DictReader(text)} - {""})
    assert said == {
        "posts.csv": "the audit counts the authors of its posts",
        "picks.csv": "the audit counts the accounts in its column account",
        "links.csv": "the audit counts the accounts at both ends of its links",
        "accounts.csv": "the audit counts the accounts in its columns platform_id and username",
    }
    shown = asked(file, "--held", tmp_path / "ids.txt")
    assert "the audit counts" not in shown.stdout
    assert "not settled whether the share held and the size of a topic are such metrics: you decide" in shown.stderr


def test_the_command_prints_tables_and_as_json_the_same_numbers(found, tmp_path):
    file = file_of(tmp_path, crawled())
    shown = asked(file)
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    assert f"the sample sample of {WORD}" in text
    share = found.datasets[0].found.share
    assert f"share held {share.value:.0%} ({share.low:.0%} to {share.high:.0%})" in text
    assert "left out: 1 walk in a part that was read whole, of 1 account" in text
    for words in ("small: 40 accounts read", "all of them together", "would more budget pay?", "note: 1 of its"):
        assert words in text
    assert shown.stderr.count("X's terms restrict what you may publish") == 1
    told = json.loads(asked(file, "--json").stdout)
    assert told == build_object(found) == json.loads(json.dumps(told, allow_nan=False))
    assert told["datasets"][0]["found"]["share"]["value"] == share.value
    one = json.loads(asked(file, "--of", "other", "--json").stdout)
    assert [dataset["name"] for dataset in one["datasets"]] == ["other"]


@pytest.mark.parametrize("width", ["80", "200"])
def test_every_share_and_number_that_is_estimated_is_shown_with_its_interval(found, width, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    shown = asked(file_of(tmp_path, crawled()), "--of", "small").stdout
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown  # nothing is cut off
    words, one = shown.split(), found.datasets[0]
    for gap in one.found.gaps:
        for each in (gap.topic, gap.held, gap.lacking, gap.reach):
            ends = [f"({format_percent(each.low)}", "to", f"{format_percent(each.high)})"]
            assert any(words[i : i + 3] == ends for i in range(len(words)))
    text, reach, size = " ".join(words), one.outlook.reach, one.found.size
    assert f"linked to: {reach.value:,.0f} ({reach.low:,.0f} to {reach.high:,.0f})" in text
    lacking, low, high = (part - one.found.on_topic for part in (size.value, size.low, size.high))
    assert f"on-topic accounts that are not held: {lacking:,.0f} ({max(0, low):,.0f} to {high:,.0f})" in text
    assert "of the accounts on topic that walks can reach, with 95 % intervals" in text
    assert f"{round(one.outlook.rate * one.outlook.recent)} of the {one.outlook.recent} that it read last are" in text


def test_gaps_are_told_by_language_and_add_up_to_what_is_not_held(tmp_path):
    place = tmp_path / "a.db"
    shutil.copy(crawled(), place)
    with opened(place) as connection, connection.begin():
        connection.exec_driver_sql("update post set lang = 'de' where author % 3 = 0")
    with looking(place) as traces:
        found = audit_datasets(traces, sample_of(None, place), of=["small"])
    (one,) = found.datasets
    assert sorted(gap.group for gap in one.languages) == ["de", "en"]
    assert sum(gap.lacking.value for gap in one.languages) == pytest.approx(1.0 - one.found.share.value)
    german = {one for (one,) in rows(place, "select coalesce(handle, platform_id) from account where node % 3 = 0")}
    topic = world().reached(WORD)
    german = {world().names.get(one, one) for one in german} & topic
    gap = {gap.group: gap for gap in one.languages}["de"]
    assert gap.topic.contains(len(german) / len(topic))
    assert gap.lacking.contains(len(german - read_by(place, "small")) / len(topic))


def test_gaps_are_told_by_host_where_there_are_several(tmp_path):
    place = tmp_path / "a.db"
    shutil.copy(crawled(), place)
    with opened(place) as connection, connection.begin():
        connection.exec_driver_sql("update outcome set mark = 'h' || (node % 2) where campaign = 3")
    with looking(place) as traces:
        found = audit_datasets(traces, sample_of(None, place), of=["small"])
    gaps = {gap.group: gap for gap in found.datasets[0].found.gaps}
    assert found.by == "host"
    assert set(gaps) == {"h0", "h1"}
    odd = {one for (one,) in rows(place, "select coalesce(handle, platform_id) from account where node % 2 = 1")}
    odd = {world().names.get(one, one) for one in odd} & world().reached(WORD)
    read = read_by(place, "small")
    assert gaps["h1"].held.contains(len(odd & read) / len(odd))
    assert gaps["h1"].topic.value + gaps["h0"].topic.value == pytest.approx(1.0)


def test_labels_by_hand_decide_over_accounts_that_the_sample_has_not_read(found, tmp_path):
    strangers = read_by(crawled(), "other") - read_by(crawled(), "sample") - world().speakers(WORD)
    labels = tmp_path / "labels.csv"
    labels.write_text("id,on_topic\n" + "".join(f"{key_of(name)},yes\n" for name in strangers), "utf-8")
    settings = sample_of(None, crawled())
    judged = settings.model_copy(update={"sample": settings.sample.model_copy(update={"labels": labels})})
    with looking(crawled()) as traces:
        (one,) = audit_datasets(traces, judged, of=["other"]).datasets
    assert strangers
    assert one.found.on_topic == found.datasets[1].found.on_topic + len(strangers)


def test_accounts_whose_posts_are_gone_are_counted_in_a_note(tmp_path):
    place = tmp_path / "a.db"
    shutil.copy(crawled(), place)
    with opened(place) as connection, connection.begin():
        for table, column in (("hit", "post"), ("mention", "post"), ("post", "id")):
            connection.exec_driver_sql(f"delete from {table} where {column} in (select id from post)")
    with looking(place) as traces:
        other, small = audit_datasets(traces, sample_of(None, place), of=["other", "small"]).datasets[:2]
    strangers = read_by(place, "other") - read_by(place, "sample")
    silent = {name for name in strangers if not world().texts.get(name)}
    assert other.notes[1].startswith(
        f"{len(strangers - silent)} of its accounts have no posts in the database any more"
    )
    assert small.found.on_topic == len((read_by(place, "small") & world().speakers(WORD)) - stuck())


def test_gaps_by_community_are_called_by_the_account_in_it_that_has_most_neighbours(found):
    with looking(crawled()) as traces:
        sample = fold_sample(traces, "sample")
        label = find_communities(sample.crawl.walks.lists, sample.seen.places)
        called = traces.read_names(sample.held.node.tolist())
    groups = {}
    for place, one in zip(sample.seen.places.tolist(), label.tolist(), strict=True):
        groups.setdefault(one, []).append((sample.held.degree[place], -place))
    largest = {f"around {called[sample.held.node[-max(some)[1]]]}" for some in groups.values()}
    one = found.datasets[0]
    assert found.by == "community"
    assert {gap.group for gap in one.found.gaps} <= largest
    assert len(one.found.gaps) == min(10, len(largest))
    lacking = sum(gap.lacking.value for gap in one.found.gaps)
    assert lacking <= 1.0 - one.found.share.value + 1e-9


def test_communities_are_the_parts_that_hang_together_more_than_with_others():
    ring = [(a, (a + 1) % 6) for a in range(6)] + [(a, b) for a in range(6) for b in range(a)]
    links = [*ring, *((a + 6, b + 6) for a, b in ring), (0, 6), (12, 12)]
    lists = NeighbourLists()
    neighbours = {node: sorted({b for a, b in both(links) if a == node}) for node in range(13)}
    flat = np.array([other for near in neighbours.values() for other in near], np.int64)
    begins = np.cumsum([0, *map(len, neighbours.values())]).astype(np.int64)
    nobody = np.zeros(14, np.int64), np.empty(0, np.int64)
    lists.hold(np.arange(13), np.ones(13, bool), [""] * 13, (begins, flat), nobody)
    label = find_communities(lists, np.arange(13)).tolist()
    assert len(set(label[:6])) == len(set(label[6:12])) == 1
    assert len(set(label)) == 3
    assert find_communities(lists, np.arange(6)).tolist() == label[:6]


def test_nothing_to_audit_and_nothing_to_audit_with_is_said_in_words(tmp_path):
    with looking(crawled()) as traces:
        settings = sample_of(None, crawled())
        with pytest.raises(SettingsError, match="is of kind collect: an audit rests on one of kind"):
            audit_datasets(traces, campaign_of(None, crawled(), name="small"))
        with pytest.raises(StoreError, match=r"'new' was not begun in .*: run it first"):
            audit_datasets(traces, settings.model_copy(update={"name": "new"}))
        with pytest.raises(StoreError, match=r"no campaign 'nobody' to audit .*there (is|are) ") as refused:
            audit_datasets(traces, settings, of=["nobody"])
        assert "sample" not in str(refused.value)
        with pytest.raises(SettingsError, match=r"is the sample itself: name another one with --of; there .*small"):
            audit_datasets(traces, settings, of=["sample"])
        with pytest.raises(SettingsError, match="of this database samples nothing"):
            audit_datasets(traces, settings.model_copy(update={"name": "small"}))
    place = tmp_path / "b.db"
    shutil.copy(crawled(), place)
    with opened(place) as connection, connection.begin():
        connection.exec_driver_sql("delete from link where campaign = 3 and n > 60")
        connection.exec_driver_sql("delete from outcome where campaign = 3 and n > 60")
        connection.exec_driver_sql("delete from pick where campaign = 3 and n > 60")
    with looking(place) as traces, pytest.raises(SettingsError, match=r"has no sample yet: it has read .* accounts"):
        audit_datasets(traces, settings)


def test_a_database_without_collections_is_not_audited(tmp_path):
    place = tmp_path / "c.db"
    shutil.copy(crawled(), place)
    with opened(place) as connection, connection.begin():
        connection.exec_driver_sql("update campaign set platform = 'bluesky' where name <> 'sample'")
    with looking(place) as traces:
        with pytest.raises(StoreError, match=r"no campaign of x to audit .* --held"):
            audit_datasets(traces, sample_of(None, place))
        with pytest.raises(SettingsError, match="'small' is of bluesky, the sample of x"):
            audit_datasets(traces, sample_of(None, place), of=["small"])


def test_a_list_that_names_nobody_is_refused(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("ann\nnot a name at all!\n", "utf-8")
    with pytest.raises(PostsFileError, match="1 bad line"):
        read_accounts(bad, "x")
    with pytest.raises(PostsFileError, match="cannot be read"):
        read_accounts(tmp_path / "none.txt", "x")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_accounts_are_found_by_id_then_by_the_name_of_who_was_seen_with_it_last(kind):
    accounts_ = [
        (1, "7", "Ann", "2026-01-01"),
        (2, "8", "Ann", "2026-02-01"),
        (3, None, "Bob", None),
        (4, "9", "Bob", ""),
    ]
    with a_database(kind) as connection:
        with connection.begin():
            for node, key, name, seen in accounts_:
                values = {"node": node, "key": key, "name": name, "handle": name.lower(), "seen": seen or None}
                told = ", ".join("null" if one is None else f"'{one}'" for one in values.values())
                connection.exec_driver_sql(
                    "insert into account (node, platform_id, username, handle, profile_at, platform, first_seen_at) "
                    f"values ({told}, 'x', '2026')"
                )
        asked_ = [Who("7", "Bob"), Who(None, "ann"), Who(None, "BOB"), Who("5", None), Who("5", "Ann"), Who(None, None)]
        assert find_nodes(connection, "x", asked_) == [1, 2, 4, None, 2, None]
        assert find_nodes(connection, "bluesky", asked_) == [None] * 6


def test_where_the_topic_was_read_whole_what_is_held_is_counted_and_whom_no_walk_comes_to_is_named(tmp_path):
    place, topic = crawled(2_000), world().reached(WORD)
    list_ = tmp_path / "list.txt"
    list_.write_text("\n".join([*map(key_of, sorted(topic)[::3]), "999"]), "utf-8")
    with looking(place) as traces:
        found = audit_datasets(traces, sample_of(None, place), of=["small"], held={"mine": read_accounts(list_, "x")})
    assert found.verdict.whole
    small, mine = found.datasets
    read = read_by(place, "small")
    assert small.found.on_topic == len(read & topic)
    assert small.found.share.low == small.found.share.high == pytest.approx(share_of(read))
    assert (small.found.size.low, small.found.size.high) == (len(topic), len(topic))
    assert small.notes == (f"{len(read & stuck(place)):,} {OUTSIDE}",)
    assert mine.found.on_topic == len(sorted(topic)[::3])
    assert mine.notes == (f"1 {BEYOND}",)
    text = " ".join(asked(file_of(tmp_path, place)).stdout.split())
    assert "the numbers below are counts, not estimates" in text
    assert f"share held {small.found.share.value:.0%} not held" in text


def test_where_walks_have_not_mixed_no_number_is_shown_and_the_steps_that_it_takes_are(tmp_path):
    place = tmp_path / "a.db"
    shutil.copy(crawled(), place)
    with serve_in_thread(posts(), limit=1_000_000) as mock:
        crawl(sample_of(mock.url, place, name="short", crawl={"steps": 140}))
    settings = sample_of(None, place, name="short")
    with looking(place) as traces:
        found = audit_datasets(traces, settings, of=["small"])
    (one,) = found.datasets
    assert (found.verdict.enough, found.more, one.found.gaps, one.languages, one.outlook) == (False, None, (), (), None)
    assert np.isnan([one.found.share.value, one.found.share.low, one.found.size.high, one.found.reach.value]).all()
    told = build_object(found)
    assert told["datasets"][0]["found"]["share"]["value"] is None
    assert told["verdict"]["steps"] >= 10
    file = file_of(tmp_path, place)
    file.write_text(file.read_text("utf-8").replace('name = "sample"', 'name = "short"'), "utf-8")
    text = " ".join(asked(file, "--of", "small").stdout.split())
    assert f"not enough data yet: run about {told['verdict']['steps']} more steps, and look again" in text
    assert "share held" not in text
    assert "would more budget pay?" not in text
