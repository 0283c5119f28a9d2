"""Accounts that somebody excludes by a click are not asked from then on, whatever the kind of campaign."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import product

import pytest
from refresh_campaigns import brought, written
from stores import opened
from web_pages import log_in, serving
from x_crawls import TOKEN_ENV, TOPIC, posts, rows

import socialcrawl as sc
from socialcrawl.mock.server import serve_in_thread

KINDS = {
    "collect": {"crawl": {"estimator": "nh-ne-sum", "steps": 20}},
    "track": {"crawl": {"steps": 20}, "track": {"window": "all", "rest": "1ms", "target": "indegree"}},
    "sample": {"crawl": {"steps": 20}, "sample": {"walkers": 2, "burn_in": 2, "length": 200, "trap": "off"}},
    "refresh": {"refresh": {"rank": "indegree", "training": "random", "z": 10}},
}
FIRST, MORE = 20, 45  # budgets of accounts, before the click and after
CHOSEN = """
select a.platform_id, a.handle from pick p join account a on a.node = p.node
where p.n > ? and p.act <> 'import' order by p.n
"""
READ = "select n, params from request where part >= 0 order by n"


def write_campaign(folder, kind, url, most):
    """A campaign file of a kind, which reads at most so many accounts."""
    own = KINDS[kind]
    sections = {
        "topic": {"keywords": [TOPIC]},
        "seeds": {"most": 5},
        "budget": {"max_nodes": most},
        "source": {"token_env": TOKEN_ENV, "base_url": url, "timeout": 10.0},
        "limits": {"k": 100_000, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5},
        **own,
    }
    if kind == "refresh":
        del sections["topic"], sections["seeds"]
    else:
        sections["crawl"] = {**own["crawl"], "steps": most}
        del sections["budget"]
    lines = ['name = "town"', 'database = "town.db"', f'kind = "{kind}"']
    for name, values in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    file = folder / "town.toml"
    file.write_text("\n".join([*lines, ""]), "utf-8")
    return file


def list_asked(database, who):
    """The numbers of the decisions for which an account was asked: its id or its username is in what was sent."""
    named = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in who if name), re.IGNORECASE)
    return [n for n, params in rows(database, READ) if named.search(params)]


def make_old_dataset(folder, url):
    """An old dataset of accounts that are known by their ids only, for a campaign that refreshes it."""
    write_campaign(folder, "collect", url, 60)
    sc.Campaign.load(folder / "town.toml").run()
    ids = [one for (one,) in rows(folder / "town.db", "select platform_id from account where platform_id is not null")]
    (folder / "town.db").unlink()
    links = "".join(f"{one},{other}\n" for one, other in zip(ids, ids[1:] + ids[:1], strict=True))
    settings = sc.Campaign.load(write_campaign(folder, "refresh", url, FIRST))._settings
    with opened(folder / "town.db") as connection:
        brought(connection, written(folder / "old.csv", links), settings=settings)


def run(folder, kind, url, most):
    file = write_campaign(folder, kind, url, most)
    return sc.Campaign.load(file).run()


@pytest.mark.parametrize(("kind", "by_id"), [*product(KINDS, [True]), *product(list(KINDS)[:-1], [False])])
def test_an_account_is_not_asked_after_it_was_excluded_by_a_click(kind, by_id, tmp_path):
    """`by_id`: it is known by its id only, as all accounts of the old dataset are."""
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    with serve_in_thread(posts(), limit=1_000_000) as mock:
        if kind == "refresh":
            make_old_dataset(here, mock.url)
        run(here, kind, mock.url, FIRST)
        (last,) = rows(here / "town.db", "select max(n) from pick")[0]
        shutil.copytree(here, other)
        run(other, kind, mock.url, MORE)  # what happens without the click
        before = set(rows(here / "town.db", "select platform_id from account where platform_id is not null"))
        chosen = set(rows(here / "town.db", CHOSEN, -1))
        who = next(
            one for one in rows(other / "town.db", CHOSEN, last)
            if one[:1] in before and one not in chosen and list_asked(other / "town.db", one)
        )  # fmt: skip
        assert not list_asked(here / "town.db", who)
        if by_id and kind != "refresh":
            with closing(sqlite3.connect(here / "town.db")) as plain, plain:
                plain.execute("update account set handle = null where platform_id = ?", who[:1])
        write_campaign(here, kind, mock.url, MORE)
        with serving(here) as client:
            csrf = log_in(client)
            (one,) = client.get("/api/v1/campaigns").json()["campaigns"]
            data = {"csrf": csrf, "accounts": who[0] if by_id else who[1]}
            assert client.post(f"/campaigns/{one['key']}/exclude", data=data).status_code == 303
        sc.Campaign.load(here / "town.toml").run(change=True)
    (later,) = rows(here / "town.db", "select max(n) from pick")[0]
    assert later > last, "the campaign went on"
    assert not list_asked(here / "town.db", who)
