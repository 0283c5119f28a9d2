"""The sheet that goes with an export: what the data are, how they came about and what is not in them.

Its questions are those of "Datasheets for Datasets" (Gebru et al., 2021): motivation, composition, collection process,
preprocessing, uses, distribution, maintenance. Every number in it is read from the database.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from socialcrawl.campaign.sections.access import SEARCHING
from socialcrawl.crawls.facts import DEFAULT, KINDS
from socialcrawl.crawls.registry import find_kind
from socialcrawl.text.wording import pluralize

FORMAT = "socialcrawl export"  # by which a folder is known as an export of ours
WORDS = ("keywords", "patterns")
SHOWN = 50  # seeds that the page names; all are in the JSON

COMPOSITION = """\
Each post is as the platform returned it at `fetched_at`, if a request brought it; likes and other counts are as of
`metrics_at`. Profiles of accounts are as of `profile_at`.{drawn}
Accounts that were not read are included because other accounts mention them, or because a search found them."""
CHOSEN = """\
 The accounts are not a random sample: a
{chosen} and the choice
depends on the seeds. Shares and averages over these posts do not describe the platform as a whole."""
SEARCHED = """\
The accounts are not a random sample: they are the authors of the posts that the platform's searches returned."""
TERMS = """\
The texts belong to their authors, and the platform's terms bind everyone who receives them. X's developer agreement
and policy allow you to share ids of posts and users (`--format ids`). Recipients fetch from these what is still
public. If a post is deleted, protected or withheld, you must delete it here too, within 24 hours of a request
(`socialcrawl forget`). The terms forbid aggregate metrics of X's users, such as how many accounts are active. They
allow analyses of content without names and ids. Before you share more than ids, read the current terms, consult the
people who review research at your institution, and check which data protection law applies. This export does not
change when the database does: after `socialcrawl forget` or `retain`, make it again and delete the old one."""
PSEUDONYMS = """\
Usernames and ids are keyed hashes (BLAKE2b). Display names, profile texts, links and the platform's JSON are left
out. In texts, mentions are pseudonyms, web addresses are cut to their host, and names are replaced where they can
be distinguished from ordinary words (see docs/how-to/exports.md). The data are pseudonymous, not anonymous: anyone
who finds a text with the platform's search knows its author. The same account has the same pseudonym in every
export made with the same key."""


SAFE_CSV = """\
In the CSV files, texts that a spreadsheet would run as a formula (those that begin with =, +, -, @, tab or carriage
return and are not numbers) begin with an apostrophe (`--safe-csv`). Other formats have the exact texts."""
READ_CSV = """\
Read all columns of the CSV files as text (in pandas `dtype=str, keep_default_na=False`). Programs that guess column
types round ids of 16 digits or more, and read names such as NA as missing values."""
READ_NETWORK = """\
In the network (.gexf, .graphml) nodes are accounts. `collected` says whether their posts were read, `relevance` is
1 + ln(occurrences of the topic in the posts read), or 0 without any. The older names are `asked` (a step chose the
account, even if it could not be read) and `value` (relevance). Edges lead from authors to the accounts that they
mention: `weight` is the number of posts that do, `alpha` the link weight, 1 + ln(occurrences of the topic in these
posts), or 0 without any. In the network of a refreshed dataset, `asked` says which accounts were tested, `value` is 1
for active ones, and weights are those of the dataset."""
READ_LINES = """\
In the JSON lines files, ids are strings. Keep them so (in pandas `read_json(..., lines=True, dtype=False)`), and
let programs read all rows before they decide on types (in polars `infer_schema_length=None`, in DuckDB
`sample_size=-1`)."""
TYPED = """\
datapackage.json describes each column and its type (Data Package 2.0, Table Schema)."""
EXACT_CSV = """\
The CSV files have the exact texts. A spreadsheet runs texts that begin with =, +, - or @ as formulas: to open the
files in one, export again with `--safe-csv`."""
ACTS = {
    "search": ("search", "searches"),
    "resolve": ("username looked up", "usernames looked up"),
    "seed": ("seed read", "seeds read"),
    "expand": ("account of the frontier read", "accounts of the frontier read"),
    "match": ("account of the frontier matched by a search", "accounts of the frontier matched by searches"),
    "page": ("further page of posts read", "further pages of posts read"),
    "recrawl": ("account read again", "accounts read again"),
    "probe": ("account checked", "accounts checked"),
    "walk": ("account visited by walks", "accounts visited by walks"),
    "inward": ("search for who mentions an account", "searches for who mentions an account"),
    "slice": ("slice of time read", "slices of time read"),
    "live": ("part of the stream read", "parts of the stream read"),
    "count": ("count of a query's posts", "counts of a query's posts"),
    "hydrate": ("group of ids fetched", "groups of ids fetched"),
    "import": ("account imported", "accounts imported"),
    "captured": (
        "author brought by a capture (partial evidence: matching posts only)",
        "authors brought by a capture (partial evidence: matching posts only)",
    ),
}

FOUND_ACTS = {
    "match": ("account read from what a search returned", "accounts read from what searches returned"),
    "page": ("account read again, with what a later search returned", "readings with what later searches returned"),
}


def render_page(sheet: Mapping[str, Any]) -> str:
    """Return the datasheet as Markdown, from the values of datasheet.json."""
    return "\n".join(_render_lines(sheet)).rstrip() + "\n"


def _render_lines(sheet: Mapping[str, Any]) -> Iterator[str]:
    posts, versions = sheet["posts"], sheet["versions"]
    title = ", ".join(campaign["name"] for campaign in sheet["campaigns"]) or "no campaign"
    yield from (f"# Datasheet: {title}", "")
    yield f"Created at {sheet['exported_at']} by socialcrawl {versions['socialcrawl']}, Python {versions['python']},"
    yield f"from a database with schema {versions['schema']}. datasheet.json has the same as JSON."
    yield from ("", "## Composition", "", COMPOSITION.format(drawn=_render_selection(sheet["campaigns"])), "")
    drawn = f"{pluralize(posts['posts'], 'post')} of {pluralize(posts['authors'], 'author')}"
    yield f"- {drawn}, written {_format_span(posts['first'], posts['last'])}"
    yield f"- collected {_format_span(posts['fetched_first'], posts['fetched_last'])}"
    yield from _render_imported(posts)
    done = [PSEUDONYMS] if sheet["pseudonymised"] else []
    done += [SAFE_CSV if sheet["safe_csv"] else EXACT_CSV] if "safe_csv" in sheet else []
    if done:
        yield from ("", "## Preprocessing", "", "\n\n".join(done))
    if names := [file["name"] for file in sheet["files"]]:
        yield from ("", "## Reading the files", "", "\n\n".join(_render_reading(names)))
    for campaign in sheet["campaigns"]:
        yield from ("", f"## Campaign {campaign['name']}", "", *_render_campaign(campaign))
    yield from ("", "## Deletions", "", *_render_tombstones(sheet["tombstones"]))
    if "compliance" in sheet:
        yield from ("", f"Checks for {sheet['compliance']['text']}.")
    yield from ("", "## Uses, distribution, maintenance", "", TERMS)
    if sheet["files"]:
        yield from ("", "## Files", "", *_render_files(sheet["files"]))


def _render_files(files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the files that have rows as a table, and the names of the others: most kinds of campaign fill only some."""
    yield from ("| file | content | rows | bytes | SHA-256 |", "|---|---|---:|---:|---|")
    for file in files:
        if file["rows"]:
            yield f"| {file['name']} | {file['about']} | {file['rows']:,} | {file['bytes']:,} | {file['sha256']} |"
    if empty := [file["name"] for file in files if not file["rows"]]:
        yield from ("", f"Without rows: {', '.join(empty)}. Their checksums are in datasheet.json.")


def _render_reading(names: Sequence[str]) -> Iterator[str]:
    """Yield how to read the files so that no digit of an id is lost."""
    yield TYPED
    for endings, said in ((".csv", READ_CSV), (".jsonl", READ_LINES), ((".gexf", ".graphml"), READ_NETWORK)):
        if any(name.endswith(endings) for name in names):
            yield said


def _render_selection(campaigns: Sequence[Mapping[str, Any]]) -> str:
    """Return how the accounts came to be the ones they are, of each kind of campaign."""
    only = [campaign for campaign in campaigns if _searches_only(campaign)]
    names = {campaign.get("kind", DEFAULT.name) for campaign in campaigns if campaign not in only}
    names |= {DEFAULT.name} if not campaigns else set()
    kinds = [find_kind(name) for name in KINDS.list_names() if name in names]
    focused = [kind.focus for kind in kinds if kind.focus]
    chosen = [CHOSEN.format(chosen="\na ".join(focused))] if focused else [""]
    chosen += [SEARCHED] if only else []
    return "\n".join([*chosen, *(kind.drawn for kind in kinds if kind.drawn)])


def _searches_only(campaign: Mapping[str, Any]) -> bool:
    """Return whether a campaign read accounts from what searches for the topic returned, and in no other way."""
    read = campaign["settings"].get("source", {}).get("read")
    return read in SEARCHING and "match" in campaign["picks"] and not {"seed", "expand"} & campaign["picks"].keys()


def _render_imported(posts: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines on posts that no request in the export returned."""
    if posts["unasked"]:
        yield f"- No request in this export returned {posts['unasked']:,} of these posts: they were imported from"
        yield "  files, or fetched by other campaigns of the database. Authors and times of imported posts are what"
        yield "  the files claim"
    if posts["unlisted"]:
        older = pluralize(posts["unlisted"], "request is", "requests are")
        yield f"- {older} of an older version that did not record which posts were returned:"
        yield "  their posts count as imported"


def _render_campaign(found: Mapping[str, Any]) -> Iterator[str]:
    settings, gaps, named = found["settings"], found["gaps"], found.get("kind")
    kind = find_kind(named or DEFAULT.name)
    yield f"Motivation: {kind.matter}"
    if not kind.dataset:
        yield from _render_topic(settings.get("topic", {}), found["seeds"])
        if model := settings.get("topic", {}).get("model_checksum"):
            yield f"- a model of texts (a file with the checksum `{model}`) decided which posts are on topic"
    if named is not None:
        yield from (f"- {said}" for said in kind.tell_choice(settings.get(named, {}), found["platform"]))
    yield from (f"- {said}" for said in (*found.get("notes", ()), *([found["reach"]] if "reach" in found else [])))
    seeding = [] if kind.dataset else ["seeds"]
    for section in (*seeding, "crawl", *([named] if named else []), "budget", "source"):
        given = ", ".join(f"{name} = {_format_code(value)}" for name, value in settings.get(section, {}).items())
        yield f"- [{section}] {given or 'no settings'}"
    yield f"- seed of all random draws: {found['seed']}"
    yield from (
        "",
        f"Collection process: requests {_format_span(found['began'], found['ended'])}, {_format_costs(found)}",
    )
    yield from ("", "| endpoint | outcome | requests | posts |", "|---|---|---:|---:|")
    for row in found["requests"]:
        yield f"| {row['endpoint']} | {row['kind']} | {row['requests']:,} | {row['posts']:,} |"
    made = found["picks"].items()
    words = ACTS | ({"import": ("list of ids imported", "lists of ids imported")} if kind.hydrates else {})
    if _searches_only(found):
        words = words | FOUND_ACTS
    acts = ", ".join(f"{pluralize(count, *words.get(act, ('decision',)))} (`{act}`)" for act, count in made) or "none"
    yield from ("", f"Decisions: {acts}", *_render_statuses(found), "", "Gaps:", "")
    if (states := found.get("ids")) is not None:
        yield f"- posts of imported ids (stored, held before, or why they did not come): {_format_counts(states)}"
    yield f"- accounts that could not be read: {_format_counts(gaps['missing'])}"
    yield f"- requests without a response, counted as spent: {gaps['lost']:,}"
    yield f"- requests that failed for other reasons: {_format_counts(gaps['failed'])}"
    yield f"- requests that reached a limit, after which the campaign waited: {_format_counts(gaps['limited'])}"
    yield f"- timelines of which only the newest posts were read (pages_per_user): {gaps['timelines_cut']:,}"
    yield f"- decisions without an outcome yet: {gaps['picks_without_outcome']:,}"
    for epoch in found["epochs"][1:]:
        yield f"- changed at {epoch['began_at']}, from decision {epoch['first']} on: {epoch['why']}"


def _render_statuses(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what became of an old dataset."""
    if "liveness" in found:
        tested = pluralize(sum(found["liveness"].values()), "account")
        yield from ("", f"Accounts checked: {tested}; as of the last check: {_format_counts(found['liveness'])}")


def _render_topic(topic: Mapping[str, Any], seeds: Sequence[str]) -> Iterator[str]:
    """Yield the topic of a campaign and its seeds."""
    yield from (f"- {word}: {', '.join(map(_format_code, topic.get(word) or [])) or 'none'}" for word in WORDS)
    more = f" and {len(seeds) - SHOWN:,} more" if len(seeds) > SHOWN else ""
    yield f"- {pluralize(len(seeds), 'seed')}: {', '.join(map(_format_code, seeds[:SHOWN])) or 'none'}{more}"


def _render_tombstones(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was deleted from the whole database: tombstones do not say from which campaign."""
    if not rows:
        yield "Nothing was deleted from the database."
        return
    yield "Deleted from the database, so not in this export:"
    yield from (f"- {row['tombstones']:,} of kind {row['kind']}: {row['why']}" for row in rows)


def _format_span(first: str | None, last: str | None) -> str:
    return f"from {first} to {last}" if first and last else "at an unknown time"


def _format_counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in found.items()) or "none"


def _format_costs(found: Mapping[str, Any]) -> str:
    if found["rehearsal"]:
        return "sent to a mock or test server instead of the platform; nothing was paid"
    return f"${found['dollars']:,.2f} at most by the price table"


def _format_code(value: Any) -> str:
    shown = "".join(letter if letter.isprintable() and letter != "`" else " " for letter in str(value))
    return f"`{shown}`"
