"""What the tests of compliance checks share: accounts that go, a check as its own process runs it, what is left."""

import sys
from contextlib import closing

import httpx
from killed_campaigns import DONE, TROUBLE, die_before
from x_crawls import crawl, rows

from socialcrawl.campaign import compliance_check
from socialcrawl.campaign.settings import check_settings

NOW = {"SOON": 0.0, "LATE": 0.0}  # nobody waits for a job of the mock


def go(mock, **fates):
    """Let accounts meet fates: delete=[names], suspend=[...], protect=[...]."""
    faults = [{"kind": kind, "account": name} for kind, names in fates.items() for name in names]
    httpx.post(f"{mock.url}/_mock/faults", json={"fault": faults}).raise_for_status()


def run_check(settings, most=None, each=lambda: None):
    """Check what is stored until all is checked and applied; the reports of what was removed."""
    from socialcrawl.campaign.build import build
    from socialcrawl.campaign.check_selection import make_check
    from socialcrawl.campaign.deletion_check import JobResult, apply_result
    from socialcrawl.engine.model import Wait
    from socialcrawl.render.live_screen import CampaignView
    from socialcrawl.storage.database.connection import open_database

    reports, since = [], None
    while True:
        with closing(build(settings, CampaignView())) as campaign:
            campaign.planner.fold(campaign.store.ledger(), campaign.clock.now())
            parts = campaign.plan, campaign.store, campaign.planner, campaign.wire, campaign.clock.now
            check = make_check(*parts)
            since = check.find_since() if since is None else since
            if most is not None:
                check.most = most
            found = check.advance(since)
            now = campaign.clock.now()
        each()
        if found is None:
            return reports
        if isinstance(found, JobResult):
            with open_database(settings.database, create=False) as connection:
                reports.append(apply_result(connection, found, settings.source.platform, now))
        else:
            assert isinstance(found, Wait)


def work(given, room=0, statement=0):
    """Check in this process; its exit code. `statement`: the number of that before which it dies."""
    from socialcrawl.errors import SocialcrawlError

    vars(compliance_check).update(NOW)
    if statement:
        die_before(statement)
    try:
        run_check(check_settings(given, "test"), most=given.get("seed", 1))
    except SocialcrawlError as error:
        sys.stderr.write(f"{error}\n")
        return TROUBLE
    return DONE


def authors(database):
    """Who wrote the stored posts: username -> ids of posts."""
    found = {}
    query = "select a.username, p.id from post p join account a on a.node = p.author "
    query += "where a.username is not null order by p.id"
    for name, key in rows(database, query):
        found.setdefault(name, []).append(key)
    return found


def crawled(settings):
    """The same settings, after a crawl."""
    crawl(settings)
    return settings
