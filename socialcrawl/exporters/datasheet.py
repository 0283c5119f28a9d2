"""The sheet that goes with an export: what the data are, how they came about and what is not in them.

Its questions are those of "Datasheets for Datasets" (Gebru et al., 2021): motivation, composition, collection process,
preprocessing, uses, distribution, maintenance. Every number in it is read from the database.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from socialcrawl.crawls.facts import DEFAULT, KINDS
from socialcrawl.crawls.registry import find_kind
from socialcrawl.text.wording import pluralize

FORMAT = "socialcrawl export"  # by which a folder is known as an export of ours
WORDS = ("keywords", "patterns")
SHOWN = 50  # seeds that the page names; all are in the JSON

COMPOSITION = """\
An instance is a post as the platform showed it to an API token at `fetched_at`, if a request brought it; counts of
likes and the like are those of `metrics_at`. Accounts are described as of `profile_at`.{drawn}\
 An account that was never
asked is here only as far as others mention it or a search found it."""
CHOSEN = """\
 It is not a random sample: a
{chosen} and its choice depends
on the seeds. Shares and averages over these posts say nothing about the platform as a whole."""
TERMS = """\
The texts belong to their authors, and the platform's terms bind everyone who receives them. Under X's developer
agreement and policy, others may be given the ids of posts and users (`--format ids`), from which they fetch what is
still public; a post that was deleted, protected or withheld since has to be deleted here too, within 24 hours of a
request (`socialcrawl forget`). They forbid aggregate metrics of X's users, such as how many accounts are active, and
allow analyses of content without names and ids. Before handing on more than ids, read the terms as they are then, ask
who reviews research at your place, and see which law on personal data applies. This export does not change when the
database does: after `socialcrawl forget` or `retain`, make it again and delete the old one."""
PSEUDONYMS = """\
Usernames and ids are keyed hashes (BLAKE2b); display names, profile texts, links and the platform's JSON are left out.
In texts, mentions are pseudonyms, addresses are cut to their host, and names are replaced where they can be told from
ordinary words (see docs/how-to/exports.md). This is pseudonymous, not anonymous: who finds a text by searching the
platform for it knows its author. Equal people have equal pseudonyms in every export that was made with the same key."""


SAFE_CSV = """\
In the CSV files, texts that a spreadsheet would run as a formula (those that begin with =, +, -, @, tab or carriage
return and are no number) have an apostrophe before them (`--safe-csv`). Other formats hold the exact texts."""
READ_CSV = """\
Read all columns of the CSV files as text (in pandas `dtype=str, keep_default_na=False`): programs that guess the types
of columns round ids of 16 digits and more, and take names such as NA for nothing."""
READ_NETWORK = """\
In the network (.gexf, .graphml) nodes are accounts. `collected` says whether their posts were read, `relevance` is
1 + ln(occurrences of the topic in the posts read), or 0 without any. The older names are `asked` (a step chose the
account, even if it could not be read) and `value` (relevance). Edges lead from authors to the accounts that they
mention: `weight` is the number of posts that do, `alpha` the link weight, 1 + ln(occurrences of the topic in these
posts), or 0 without any. In the network of a refreshed dataset, `asked` says which accounts were tested, `value` is 1
for active ones, and weights are those of the dataset."""
READ_LINES = """\
In the JSON lines files ids are texts. Keep them so (in pandas `read_json(..., lines=True, dtype=False)`), and let
programs look at all rows before they decide on types (in polars `infer_schema_length=None`, in DuckDB
`sample_size=-1`)."""
TYPED = """\
datapackage.json says what each column holds, and its type (Data Package 2.0, Table Schema)."""
EXACT_CSV = """\
The CSV files hold the exact texts. A spreadsheet runs those as formulas that begin with =, +, - or @: to open the files
in one, export again with `--safe-csv`."""


def render_page(sheet: Mapping[str, Any]) -> str:
    """Return the datasheet as Markdown, from the values of datasheet.json."""
    return "\n".join(_render_lines(sheet)).rstrip() + "\n"


def _render_lines(sheet: Mapping[str, Any]) -> Iterator[str]:
    posts, versions = sheet["posts"], sheet["versions"]
    names = ", ".join(campaign["name"] for campaign in sheet["campaigns"]) or "no campaign"
    yield from (f"# Datasheet: {names}", "")
    yield f"Made at {sheet['exported_at']} by socialcrawl {versions['socialcrawl']}, Python {versions['python']},"
    yield f"from a database with schema {versions['schema']}. The same in JSON: datasheet.json."
    yield from ("", "## Composition", "", COMPOSITION.format(drawn=_render_selection(sheet["campaigns"])), "")
    drawn = f"{pluralize(posts['posts'], 'post')} of {pluralize(posts['authors'], 'author')}"
    yield f"- {drawn}, written {_format_span(posts['first'], posts['last'])}"
    yield f"- collected {_format_span(posts['fetched_first'], posts['fetched_last'])}"
    yield from _render_unasked(posts)
    done = [PSEUDONYMS] if sheet["pseudonymised"] else []
    done += [SAFE_CSV if sheet["safe_csv"] else EXACT_CSV] if "safe_csv" in sheet else []
    if done:
        yield from ("", "## Preprocessing", "", "\n\n".join(done))
    yield from ("", "## Reading the files", "", "\n\n".join(_render_reading([file["name"] for file in sheet["files"]])))
    for campaign in sheet["campaigns"]:
        yield from ("", f"## Campaign {campaign['name']}", "", *_render_campaign(campaign))
    yield from ("", "## Erased", "", *_render_tombstones(sheet["tombstones"]))
    yield from ("", "## Uses, distribution, maintenance", "", TERMS)
    yield from ("", "## Files", "", "| file | what | rows | bytes | SHA-256 |", "|---|---|---:|---:|---|")
    for file in sheet["files"]:
        yield f"| {file['name']} | {file['about']} | {file['rows']:,} | {file['bytes']:,} | {file['sha256']} |"


def _render_reading(names: Sequence[str]) -> Iterator[str]:
    """Yield how to read the files so that no digit of an id is lost."""
    yield TYPED
    for endings, said in ((".csv", READ_CSV), (".jsonl", READ_LINES), ((".gexf", ".graphml"), READ_NETWORK)):
        if any(name.endswith(endings) for name in names):
            yield said


def _render_selection(campaigns: Sequence[Mapping[str, Any]]) -> str:
    """Return how the accounts came to be the ones they are, of each kind of campaign."""
    names = {campaign.get("kind", DEFAULT.name) for campaign in campaigns} or {DEFAULT.name}
    kinds = [find_kind(name) for name in KINDS.list_names() if name in names]
    focused = [kind.focus for kind in kinds if kind.focus]
    chosen = [CHOSEN.format(chosen="\na ".join(focused))] if focused else [""]
    return "\n".join([*chosen, *(kind.drawn for kind in kinds if kind.drawn)])


def _render_unasked(posts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is to be said of posts that no request in the export brought."""
    if posts["unasked"]:
        yield f"- {posts['unasked']:,} of these posts came by no request that is in this export: they were imported"
        yield "  from files, or fetched by other campaigns of the database. Who wrote imported ones and when, and when"
        yield "  they were fetched, is what the files claim"
    if posts["unlisted"]:
        older = pluralize(posts["unlisted"], "request is", "requests are")
        yield f"- {older} of an older program that did not write down which posts came:"
        yield "  these count as imported too"


def _render_campaign(found: Mapping[str, Any]) -> Iterator[str]:
    settings, gaps, named = found["settings"], found["gaps"], found.get("kind")
    kind = find_kind(named or DEFAULT.name)
    yield f"Motivation: {kind.matter}"
    if not kind.dataset:
        yield from _render_topic(settings.get("topic", {}), found["seeds"])
    if named is not None:
        yield from (f"- {said}" for said in kind.tell_choice(settings.get(named, {}), found["platform"]))
    yield from (f"- {said}" for said in found.get("notes", ()))
    seeding = [] if kind.dataset else ["seeds"]
    for section in (*seeding, "crawl", *([named] if named else []), "budget", "source"):
        given = ", ".join(f"{name} = {_format_code(value)}" for name, value in settings.get(section, {}).items())
        yield f"- [{section}] {given or '(not told)'}"
    yield f"- seed of all random draws: {found['seed']}"
    yield from (
        "",
        f"Collection process: requests {_format_span(found['began'], found['ended'])}, {_format_costs(found)}",
    )
    yield from ("", "| endpoint | outcome | requests | posts |", "|---|---|---:|---:|")
    for row in found["requests"]:
        yield f"| {row['endpoint']} | {row['kind']} | {row['requests']:,} | {row['posts']:,} |"
    acts = ", ".join(f"{count:,} {act}" for act, count in found["picks"].items()) or "none"
    yield from ("", f"Picks: {acts}", *_render_statuses(found), "", "Gaps:", "")
    yield f"- accounts that could not be read: {_format_counts(gaps['missing'])}"
    yield f"- requests whose answer was lost, counted as spent: {gaps['lost']:,}"
    yield f"- requests that failed otherwise: {_format_counts(gaps['failed'])}"
    yield f"- requests that met a limit, after which the campaign waited: {_format_counts(gaps['limited'])}"
    yield f"- timelines of which only the newest posts were read (pages_per_user): {gaps['timelines_cut']:,}"
    yield f"- picks that have no outcome yet: {gaps['picks_without_outcome']:,}"
    for epoch in found["epochs"][1:]:
        yield f"- changed at {epoch['began_at']}, from pick {epoch['first']} on: {epoch['why']}"


def _render_statuses(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what became of an old dataset."""
    if "liveness" in found:
        brought = f"{pluralize(found['picks'].get('import', 0), 'pick')} of act `import` brought the dataset"
        yield from ("", f"Tested: {pluralize(sum(found['liveness'].values()), 'account')} ({brought}),")
        yield f"of which were last found {_format_counts(found['liveness'])}"


def _render_topic(topic: Mapping[str, Any], seeds: Sequence[str]) -> Iterator[str]:
    """Yield what a campaign is about, and whom it began with."""
    yield from (f"- {word}: {', '.join(map(_format_code, topic.get(word) or [])) or 'none'}" for word in WORDS)
    more = f" and {len(seeds) - SHOWN:,} more" if len(seeds) > SHOWN else ""
    yield f"- {pluralize(len(seeds), 'seed')} asked: {', '.join(map(_format_code, seeds[:SHOWN])) or 'none'}{more}"


def _render_tombstones(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was forgotten: of the whole database, as tombstones do not say whose campaign it was."""
    if not rows:
        yield "Nothing was erased from the database."
        return
    yield "Erased from the database, so not in this export:"
    yield from (f"- {row['tombstones']:,} of kind {row['kind']}: {row['why']}" for row in rows)


def _format_span(first: str | None, last: str | None) -> str:
    return f"from {first} to {last}" if first and last else "at no known time"


def _format_counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in found.items()) or "none"


def _format_costs(found: Mapping[str, Any]) -> str:
    if found["rehearsal"]:
        return "asked a server other than the platform's (a mock or a rehearsal); nothing was paid"
    return f"${found['dollars']:,.2f} at most by the price table"


def _format_code(value: Any) -> str:
    shown = "".join(letter if letter.isprintable() and letter != "`" else " " for letter in str(value))
    return f"`{shown}`"
