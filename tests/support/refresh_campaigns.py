"""What the tests of old datasets share: graphs, the campaign that refreshes them, and what came of it."""

from import_files import NOW, table

from socialcrawl.campaign.settings import check_settings
from socialcrawl.importers.import_dataset import DatasetFiles, import_dataset, import_liveness

__all__ = ["NOW", "brought", "found_of", "graph_of", "judged", "revived", "sites_of", "written"]


def revived(platform="x", name="revive", **more):
    """The settings of a campaign that refreshes an old dataset."""
    source = {"platform": platform, **({"contact": "mailto:me@example.org"} if platform in ("web", "mastodon") else {})}
    return check_settings({"name": name, "kind": "refresh", "source": source, **more}, "test")


def brought(connection, *paths, settings=None, earlier=None, at=NOW, **more):
    """What came of an import of files; see `import_dataset`."""
    return import_dataset(DatasetFiles(list(paths), **more), connection, settings or revived(), at, earlier)


def judged(connection, *paths, settings=None, at=NOW, **more):
    """What came of an import of results."""
    return import_liveness(DatasetFiles(list(paths), **more), connection, settings or revived(), at)


def written(path, text):
    path.write_text(text, "utf-8")
    return path


def called(connection):
    rows = table(connection, "select node, coalesce(handle, platform_id) from account where forgotten_at is null")
    return dict(rows)


def graph_of(connection, name="revive"):
    """{account: {account: weight}} as all picks of act import tell it together."""
    names = called(connection)
    mine = f"p.act = 'import' and p.campaign = (select id from campaign where name = '{name}')"
    found = {names[node]: {} for (node,) in table(connection, f"select p.node from pick p where {mine} order by n")}
    sql = (
        "select p.node, l.node, l.alpha from pick p join link l on l.campaign = p.campaign and l.n = p.n "
        f"where {mine} order by l.n, l.position"
    )
    for source, target, weight in table(connection, sql):
        assert names[target] not in found[names[source]]
        found[names[source]][names[target]] = weight
    return found


def sites_of(connection):
    names = called(connection)
    sql = "select o.node, o.mark from outcome o join pick p using (campaign, n) where p.act = 'import' order by n"
    return {names[node]: site for node, site in table(connection, sql)}


def found_of(connection):
    """{account: (value, missing, mark, at)} of all probes, in order."""
    names = called(connection)
    sql = "select o.node, o.value, o.missing, o.mark, o.at from outcome o join pick p using (campaign, n) "
    return {names[row[0]]: tuple(row[1:]) for row in table(connection, sql + "where p.act = 'probe' order by n")}
