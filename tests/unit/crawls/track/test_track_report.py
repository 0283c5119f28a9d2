"""What is told of a campaign that tracks accounts: tables at any width, who was not read, how it is rehearsed."""

import io
import re
import shlex
from datetime import datetime
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from test_explain import crawled, rows, settings_of, write

from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.crawls.collect.explain import list_unread_seeds
from socialcrawl.crawls.track.report import RankedAccount, TrackReport, Visit, VisitHistory, VisitYield
from socialcrawl.errors import SettingsError
from socialcrawl.lab.generators.generate import generate
from socialcrawl.lab.generators.generate import write as write_posts
from socialcrawl.render.track_report import list_parts, show_visits
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.storage.queries.traces import CampaignTraces

PAGE = (Path(__file__).parents[4] / "docs/how-to/track.md").read_text("utf-8")
REHEARSAL = PAGE[PAGE.index("## A rehearsal") : PAGE.index("## What the report shows")]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", REHEARSAL, re.DOTALL)
KNOWN = dict.fromkeys(("indegree", "outlinks", "link_score", "relevance"), 1234.0) | {
    "visits": 12.0,
    "yield": 1.23456e-05,
    "cash": 0.00123456,
}
MARK = "1990000000000000000"
VISITS = (
    Visit(3, "resolve", 0.0, {}, "", "2026-11-20T08:01:02.345Z", 0, 0, None),
    Visit(17, "seed", 0.0, {}, "", "2026-11-20T08:01:59.345Z", 200, 1_234, None),
    Visit(123_456, "recrawl", 1.23456e-05, KNOWN, MARK, "2026-11-21T17:35:12Z", 20, 3, None),
    Visit(123_999, "recrawl", 0.5, KNOWN, MARK, "2026-11-21T18:00:00Z", 0, 0, "suspended"),
    Visit(234_567, "expand", 0.5, KNOWN, MARK, None, None, None, None),
)
DID = "did:plc:z72i7hdynmk6r22z27h6tvur"
ADDRESS = "https://observatory.example/people/astronomers/of-the-southern-sky.html"
NAMES = ("a", "astronomer.of.the.south@social.example", DID, ADDRESS)


def lines_of(width, print_, *given, **more):
    console = Console(file=io.StringIO(), width=width)
    print_(console, *given, **more)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    return lines


@pytest.mark.parametrize("width", [80, 140])
def test_the_visits_of_an_account_are_told_whole_at_any_width(width):
    told = VisitHistory("who", "ann", "importance", None, VISITS)
    lines = lines_of(width, show_visits, told)
    whole = "\n".join(lines)
    assert "…" not in whole
    assert MARK not in whole
    (head,) = [line for line in lines if "answered" in line]
    assert head.split()[:4] == ["decision", "act", "answered", "(UTC)"]
    (line,) = [line for line in lines if "2026-11-21 17:35" in line]
    assert line.split()[:9] == ["123,456", "recrawl", "2026-11-21", "17:35", "what", "is", "new", "20", "3"]
    (line,) = [line for line in lines if " seed " in line]
    assert line.split()[:7] == ["17", "seed", "2026-11-20", "08:01", "everything", "200", "1,234"]
    (line,) = [line for line in lines if " expand " in line]
    assert line.split()[1:7] == ["expand", "not", "yet", "the", "window", "-"]
    assert [line for line in lines if "2026-11-21 18:00" in line and "suspended" in line]
    told = [line.split() for line in lines if line.lstrip().startswith("123,456")]
    assert len(told) == (1 if width == 140 else 2), "what was known stands beside it, or below"
    assert told[-1][-5:] == ["1.23456e-05", "12", "1234", "1.23456e-05", "0.00123456"]


def found(past):
    places = [
        RankedAccount(name, 0.123, 12_340 + i, 5 + i, 1e9 - past, 7, (3 + i, 7 + i)) for i, name in enumerate(NAMES)
    ]
    yields = [VisitYield("expand", 12_345, 23_456, 345_678, 4_567_890), VisitYield("recrawl", 1, 0, 0, 0)]
    return TrackReport(
        "importance", 1e9, 1e9, 1e9 - past, places, places[:1], [], yields, past, past, compared=40, moved=1
    )


@pytest.mark.parametrize("width", [80, 140])
def test_who_counts_is_told_whole_at_any_width_and_only_long_names_are_folded(width):
    past = 47 * 3600 + 59 * 60
    lines = lines_of(width, lambda console, given: [console.print(part) for part in list_parts(given)], found(past))
    assert "…" not in "\n".join(lines)
    heads = [line.split() for line in lines if line.lstrip().startswith("place")]
    assert heads == [["place", "account", "importance", "before", last, "(ago)"] for last in ("visits", "chance")]
    of = {name: [line for line in lines if name in line] for name in NAMES[2:]}
    assert of[DID][0].split() == ["12,342", DID, "12.30%", "7", "7", "47", "h", "59", "min"]
    assert len(of[ADDRESS]) == (width == 140)
    (risen,) = [line.split() for line in lines if line.split()[1:3] == [NAMES[0], "12.30%"] and "3-7" in line]
    assert risen[3:5] == ["5", "3-7"]
    if width == 80:  # it goes on below
        at = next(i for i, line in enumerate(lines) if line.split()[:1] == ["12,343"])
        assert lines[at].split()[1] + lines[at + 1].strip() == ADDRESS
    (line,) = [line for line in lines if line.startswith("first visits")]
    assert line.split()[2:] == ["12,345", "23,456", "345,678", "4,567,890", "14.74", "194.74"]
    assert [line.split() for line in lines if line.startswith("returns")] == [["returns", "1", "0", "0", "0", "-", "-"]]


def again(store, node, *whys):
    """More visits of an account, each of which ended so; None: it was read."""
    for why in whys:
        n = rows(store, "select max(n) + 1 as n from pick")[0]["n"]
        write(
            store,
            f"insert into pick (campaign, n, batch, node, act, score) values (1, {n}, {n}, {node}, 'recrawl', 0)",
            "insert into outcome (campaign, n, node, at, value, occurrences, posts, missing) values "
            f"(1, {n}, {node}, '2026-11-21T17:00:00Z', 0, 0, 0, {'null' if why is None else repr(why)})",
        )


def test_a_seed_that_was_read_once_is_not_unread_and_accounts_are_missing_once_for_their_latest_reason(tmp_path):
    with crawled(tmp_path / "a.db", settings_of(steps=20)) as store:
        before = summarize_campaign(store.connection).missing
        lost = [("person11", "protected"), ("nobody", "suspended")]
        assert list_unread_seeds(CampaignTraces(store.connection)) == lost
        seeds = {row["node"] for row in rows(store, "select node from pick where act = 'seed'")}
        read_well = rows(store, "select node from outcome where missing is null and node >= 0 and value > 0")
        first, second, third = [row["node"] for row in read_well if row["node"] in seeds][:3]
        again(store, first, "temporary", "suspended")
        again(store, second, "temporary", None)
        again(store, third, "forgotten", "forgotten", "forgotten")
        assert list_unread_seeds(CampaignTraces(store.connection)) == lost, "they were read before"
        expected = dict(before)
        for why in ("suspended", "forgotten"):
            expected[why] = expected.get(why, 0) + 1
        assert summarize_campaign(store.connection).missing == expected
        (nobody,) = [row["node"] for row in rows(store, "select node from account where handle = 'nobody'")]
        again(store, nobody, None)
        assert list_unread_seeds(CampaignTraces(store.connection)) == lost[:1], "it came back"


def refused(**sections):
    with pytest.raises(SettingsError) as error:
        check_settings({"name": "a", "topic": {"keywords": ["sky"]}, "kind": "track", **sections}, "a.toml")
    return str(error.value)


@pytest.mark.parametrize("given", [6, 6.5, True, [1]])
def test_a_span_without_quotes_is_refused_with_what_to_write(given):
    assert refused(track={"rest": given}).endswith(': write it with its unit and in quotes, as "12h" or "7d".')
    assert refused(budget={"max_time": given}).endswith(': write it with its unit and in quotes, as "12h" or "7d".')
    assert refused(track={"window": given}).endswith('in quotes, as "12h", "7d" or "all".')


def test_days_and_all_are_named_where_a_span_is_none():
    assert refused(track={"rest": "soon"}).endswith("write 3s, 15m, 1h or 7d.")
    assert refused(track={"rest": "all"}).endswith("write 3s, 15m, 1h or 7d.")
    assert refused(track={"rest": "6"}).endswith('write it with its unit, as "12h" or "7d".')
    assert refused(track={"window": "400d"}).endswith('longer than a year: write 3s, 15m, 1h, 7d or "all".')


def test_cash_that_leans_where_nobody_goes_by_cash_is_refused():
    said = refused(track={"lean": -0.5})
    assert "[track]: lean = -0.5 moves cash, by which nobody is chosen here: remove it" in said
    for choice in ({"target": "importance"}, {"expansion": "opic"}, {"recrawl": "opic"}):
        given = {"name": "a", "topic": {"keywords": ["sky"]}, "kind": "track", "track": {"lean": -0.5, **choice}}
        assert check_settings(given, "a.toml").track.lean == -0.5


def test_the_rehearsal_of_the_page_fits_together(tmp_path):
    commands = [line for kind, code in BLOCKS if kind == "sh" for line in code.splitlines()]
    (serve,) = [shlex.split(line) for line in commands if line.startswith("socialcrawl mock")]
    told = dict(zip(serve[2::2], serve[3::2], strict=True))
    assert "--posts" not in told, "the mock makes its own: those of the demo, of fewer people here"
    write_posts(tmp_path / "posts.parquet", generate(800, seed=1))
    posts = pq.read_table(tmp_path / "posts.parquet")
    (tmp_path / "rehearsal.toml").write_text(dict(BLOCKS)["toml"], "utf-8")
    settings = read(tmp_path / "rehearsal.toml")
    assert settings.source.base_url == f"http://127.0.0.1:{told['--port']}"
    assert settings.track.width is None
    assert settings.track.pause * float(told["--speed"]) == 86_400, "a day of the file"
    begin = datetime.fromisoformat(f"{told['--from']}T00:00+00:00").timestamp()
    for early in (True, False):
        some = posts.filter(pc.equal(pc.less(posts["created_at"], begin), early))
        assert pc.sum(pc.match_substring(some["text"], settings.topic.keywords[0])).as_py() > 100
    assert any(line.startswith("export X_BEARER_TOKEN=") for line in commands)
