"""The mention network of a campaign as GEXF and GraphML, written while it is read.

Nodes are accounts, edges lead from authors to those whom they mention: `weight` is the number of posts that do, `alpha`
the weight of the link in the campaign's graph (1 + ln of the occurrences in these posts, section 2.3), where the author
was asked. Self-links are left out, as in the graph. Of a campaign that refreshes an old dataset the links are those of
the dataset: `weight` and `alpha` are what it says. Nodes have the names of the glossary, `collected` and `relevance`,
beside the older `asked` and `value`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from xml.sax.saxutils import escape, quoteattr

from sqlalchemy import text

from socialcrawl.exporters.columns import Person
from socialcrawl.exporters.pseudonymize import Pseudonyms
from socialcrawl.exporters.selection import SOME, ExportSelection

# What XML 1.0 cannot hold, however it is quoted.
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
NODES = """
select a.node, a.platform_id, a.username, o.value, o.occurrences, o.missing, k.n as asked
from account a join export_account e on e.node = a.node
left join (select p.node as node, max(p.n) as n from pick p where p.campaign = :campaign and p.act in ({acts})
  and (p.act <> 'page' or exists (
    select 1 from outcome x where x.campaign = p.campaign and x.n = p.n and x.missing is null))
  group by p.node) k on k.node = a.node
left join outcome o on o.campaign = :campaign and o.n = k.n
{only}order by a.node
"""
EDGES = """
select e.source, e.target, e.posts, l.alpha from (
  select p.author as source, m.node as target, count(*) as posts
  from export_post x join post p on p.id = x.id join mention m on m.post = x.id
  join export_account a on a.node = p.author join export_account b on b.node = m.node
  where p.author <> m.node group by p.author, m.node) e
left join (
  select k.node as source, l.node as target, max(l.alpha) as alpha
  from link l join pick k on k.campaign = l.campaign and k.n = l.n
  where l.campaign = :campaign and k.node >= 0 group by k.node, l.node) l
  on l.source = e.source and l.target = e.target
{only}order by e.source, e.target
"""
ON_TOPIC = EDGES.format(only="where l.alpha > 0\n")  # mentions in matching posts
AT_ENDS = "where a.node in (select source from ({0}) x union select target from ({0}) y)\n"
READ, TESTED = "'seed', 'expand', 'match', 'page', 'walk', 'import'", "'probe'"  # acts that say what is known of a node
# The network of a campaign that refreshes an old dataset.
OLD_EDGES = """
select k.node as source, l.node as target, cast(null as integer) as posts, max(l.alpha) as alpha
from link l join pick k on k.campaign = l.campaign and k.n = l.n
join export_account a on a.node = k.node join export_account b on b.node = l.node
where l.campaign = :campaign and k.act = 'import' and k.node <> l.node group by k.node, l.node
order by k.node, l.node
"""
ATTRIBUTES = (
    ("asked", "boolean"), ("value", "double"), ("occurrences", "long"), ("missing", "string"),
    ("collected", "boolean"), ("relevance", "double"),
)  # fmt: skip
GEXF_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">
<graph mode="static" defaultedgetype="directed">
<attributes class="node">
"""
GRAPHML_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
"""


class Vertex(NamedTuple):
    """A node of the network.

    `missing` says why its posts could not be read, None where they could or nobody asked. `collected` and `relevance`
    are None in an old dataset, whose accounts are tested.
    """

    key: int
    label: str
    asked: bool
    value: float | None
    occurrences: int | None
    missing: str | None
    collected: bool | None = None
    relevance: float | None = None


class Edge(NamedTuple):
    """A link of the network: posts of `source` that mention `target`, None for one of an old dataset, and alpha."""

    source: int
    target: int
    posts: int | None
    alpha: float | None

    @property
    def weight(self) -> int | float | None:
        """The posts, or, of an old dataset, what it says."""
        return self.alpha if self.posts is None else self.posts


def read_vertices(
    choice: ExportSelection, pseudonyms: Pseudonyms | None, *, on_topic: bool = False
) -> Iterator[Vertex]:
    """Yield the nodes, in the order of their numbers in the database; `on_topic`: those of `read_edges` only."""
    old = choice.refreshes
    for row in _stream_rows(
        choice, NODES.format(acts=TESTED if old else READ, only=AT_ENDS.format(ON_TOPIC) if on_topic else "")
    ):
        who = Person(row.platform_id, row.username)
        key, label = row.node, who.display_name
        missing = (row.missing or "").partition(":")[0] or None  # whose double it is says the table of picks
        if pseudonyms is not None:
            key, label = pseudonyms.name_node(key), pseudonyms.name_person(who)
        asked = row.asked is not None
        new = () if old else (asked and row.value is not None, row.value)
        yield Vertex(key, label or str(key), asked, row.value, row.occurrences, missing, *new)


def read_edges(choice: ExportSelection, pseudonyms: Pseudonyms | None, *, on_topic: bool = False) -> Iterator[Edge]:
    """Yield the links, by the numbers of their ends; `on_topic`: those in matching posts only."""
    sql = OLD_EDGES if choice.refreshes else ON_TOPIC if on_topic else EDGES.format(only="")
    for row in _stream_rows(choice, sql):
        ends = (row.source, row.target)
        if pseudonyms is not None:
            ends = (pseudonyms.name_node(row.source), pseudonyms.name_node(row.target))
        yield Edge(*ends, row.posts, row.alpha)


def _stream_rows(choice: ExportSelection, sql: str) -> Iterator[Any]:
    query = text(sql).execution_options(yield_per=SOME)
    return iter(choice.reader.execute(query, {"campaign": choice.numbers[0]}))


class GexfFile:
    """A GEXF 1.2 file, as Gephi and networkx read it."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._edges = 0
        declared = (f'<attribute id="{name}" title="{name}" type="{kind}"/>\n' for name, kind in ATTRIBUTES)
        file.writelines([GEXF_HEAD, *declared, "</attributes>\n"])
        file.write(
            '<attributes class="edge">\n<attribute id="posts" title="posts" type="long"/>\n'
            '<attribute id="alpha" title="alpha" type="double"/>\n</attributes>\n<nodes>\n'
        )

    def write_vertex(self, node: Vertex) -> None:
        """Add a node."""
        values = "".join(
            f'<attvalue for="{name}" value={_quote_value(_format_word(value))}/>'
            for name, value in zip((name for name, _ in ATTRIBUTES), node[2:], strict=True)
            if value is not None
        )
        self._file.write(
            f'<node id="{node.key}" label={_quote_value(node.label)}><attvalues>{values}</attvalues></node>\n'
        )

    def end_vertices(self) -> None:
        """End the nodes; the edges follow."""
        self._file.write("</nodes>\n<edges>\n")

    def write_edge(self, edge: Edge) -> None:
        """Add a link."""
        alpha = "" if edge.alpha is None else f'<attvalue for="alpha" value="{edge.alpha!r}"/>'
        posts = "" if edge.posts is None else f'<attvalue for="posts" value="{edge.posts}"/>'
        self._file.write(
            f'<edge id="{self._edges}" source="{edge.source}" target="{edge.target}" weight="{edge.weight}">'
            f"<attvalues>{posts}{alpha}</attvalues></edge>\n"
        )
        self._edges += 1

    def end(self) -> None:
        """End the file."""
        self._file.write("</edges>\n</graph>\n</gexf>\n")


class GraphMlFile:
    """A GraphML file; `weight` is the type of its weights."""

    weight = "long"

    def __init__(self, file: TextIO) -> None:
        self._file = file
        file.write(GRAPHML_HEAD)
        weights = (("weight", self.weight), ("alpha", "double"))
        for of, attributes in (("node", ATTRIBUTES), ("edge", weights)):
            file.writelines(
                f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n' for name, kind in attributes
            )
        file.write('<graph edgedefault="directed">\n')

    def write_vertex(self, node: Vertex) -> None:
        """Add a node."""
        names = ("label", *(name for name, _ in ATTRIBUTES))
        data = "".join(
            f'<data key="{name}">{escape(_remove_illegal(_format_word(value)))}</data>'
            for name, value in zip(names, node[1:], strict=True)
            if value is not None
        )
        self._file.write(f'<node id="{node.key}">{data}</node>\n')

    def end_vertices(self) -> None:
        """End the nodes; the edges follow."""

    def write_edge(self, edge: Edge) -> None:
        """Add a link."""
        alpha = "" if edge.alpha is None else f'<data key="alpha">{edge.alpha!r}</data>'
        self._file.write(
            f'<edge source="{edge.source}" target="{edge.target}">'
            f'<data key="weight">{edge.weight}</data>{alpha}</edge>\n'
        )

    def end(self) -> None:
        """End the file."""
        self._file.write("</graph>\n</graphml>\n")


class OldGraphMlFile(GraphMlFile):
    """A GraphML file of an old dataset, which may weigh its links by any number."""

    weight = "double"


Form = GexfFile | GraphMlFile
FORMS: dict[str, Callable[[TextIO], Form]] = {"gexf": GexfFile, "graphml": GraphMlFile}
"""The forms of the network, by the ending of their files."""
OLD_FORMS: dict[str, Callable[[TextIO], Form]] = {**FORMS, "graphml": OldGraphMlFile}
"""The same, of an old dataset."""


def write_network(
    choice: ExportSelection,
    files: dict[str, Path],
    pseudonyms: Pseudonyms | None,
    *,
    on_topic: bool = False,
    watch: Callable[[int], None] = lambda rows: None,
) -> tuple[int, int]:
    """Write the network into these files, by form; the numbers of nodes and edges.

    Args:
        choice: the campaign.
        files: where, by form.
        pseudonyms: None: people are named.
        on_topic: whether only mentions in matching posts are written, and the accounts at their ends.
        watch: called with the number of nodes and edges so far, now and then.
    """
    with ExitStack() as stack:
        opened = {form: stack.enter_context(path.open("w", encoding="utf-8")) for form, path in files.items()}
        forms = OLD_FORMS if choice.refreshes else FORMS
        made = [forms[form](file) for form, file in opened.items()]
        nodes = links = 0
        for vertex in read_vertices(choice, pseudonyms, on_topic=on_topic):
            nodes += 1
            for form in made:
                form.write_vertex(vertex)
            if not nodes % SOME:
                watch(nodes)
        for form in made:
            form.end_vertices()
        for edge in read_edges(choice, pseudonyms, on_topic=on_topic):
            links += 1
            for form in made:
                form.write_edge(edge)
            if not links % SOME:
                watch(nodes + links)
        for form in made:
            form.end()
    return nodes, links


def _remove_illegal(value: str) -> str:
    return ILLEGAL.sub("\ufffd", value)


def _quote_value(value: str) -> str:
    return quoteattr(_remove_illegal(value))


def _format_word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
