"""Who mentions whom, as a network for analysis."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from socialcrawl.api.argument_checks import check_arguments, make_whole_rule
from socialcrawl.api.data_tables import Table, import_library, make_columns, split_rows
from socialcrawl.api.page_addresses import find_account_page
from socialcrawl.render.network_layout import compute_large_layout
from socialcrawl.storage.queries.network_map import StoredMap, read_network_map
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.traces import CampaignTraces

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd

SIZE = 10_000  # rows that are read together
EDGES = """select source_node, target_node, max(posts), max(alpha), min(first_at), max(last_at) from mention_network
where campaign = :name and (:on_topic = 0 or alpha > 0)
group by source_node, target_node order by source_node, target_node"""
NODES = """select a.node, coalesce(a.username, a.platform_id), a.platform_id, o.value, o.occurrences
from account a left join (select node, max(n) as n from outcome where campaign = :number and missing is null
  group by node) last on last.node = a.node
left join outcome o on o.campaign = :number and o.n = last.n
where a.node in (select source_node from mention_network where campaign = :name and (:on_topic = 0 or alpha > 0)
  union select target_node from mention_network where campaign = :name and (:on_topic = 0 or alpha > 0))
order by a.node"""
NODE_COLUMNS = {
    "account": ("text", "name of the node: username as last shown, or the platform's id; a number tells equals apart"),
    "account_id": ("text", "the platform's own id"),
    "collected": ("bool", "whether its posts were read"),
    "relevance": ("float", "1 + ln(occurrences), 0 without any; missing: its posts were not read"),
    "occurrences": ("int", "occurrences of the topic in its posts"),
}
EDGE_COLUMNS = {
    "source": ("text", "who mentions"),
    "target": ("text", "who is mentioned"),
    "posts": ("int", "posts in the database in which the source mentions the target"),
    "alpha": ("float", "1 + ln(occurrences of the topic in these posts), 0 without any"),
    "first_at": ("time", "when the first of these posts was written"),
    "last_at": ("time", "when the last of these posts was written"),
}
MAP_COLUMNS = {
    "account": ("text", "username as last shown, or the platform's id where no name is known"),
    "account_id": ("text", "the platform's own id"),
    "relevance": ("float", "1 + ln(occurrences), 0 without any; in a sample 1: on topic; missing: it was not read"),
    "act": ("text", "seed, expand, match, walk or import: how it came to be read; missing: it was not read"),
    "mentioned_by": ("int", "accounts of the map that mention it"),
    "mentions": ("int", "accounts of the map that it mentions"),
    "x": ("float", "where it is drawn, from -1 to 1"),
    "y": ("float", "where it is drawn, from -1 to 1"),
    "page": ("text", "address where the platform shows it; missing where that is not known"),
}
MOST_EDGES = 20_000  # mentions of a map


class NetworkMap:
    """The part of a network that fits into a picture, and where to draw it; see `Network.compute_map`.

    Attributes:
        nodes: a table of the accounts, in the order in which they were chosen.
        edges: pairs of places in `nodes`, from 0: who mentions, and who is mentioned.
        left_out: how many more mentions there are between these accounts, of smaller link weights.
        read: how many accounts of the campaign were read.
        unread: how many others those that were chosen mention.
        alone: how many accounts were chosen and left out, as no mention joins them to the others.

    Example:
        >>> drawn = data.network().compute_map()
        >>> drawn
        <NetworkMap of 7 accounts>
        >>> [(node["account"], node["relevance"]) for node in drawn.nodes][-1]
        ('emil', None)
        >>> len(drawn.edges), drawn.read, drawn.unread, drawn.alone, drawn.left_out
        (8, 6, 1, 0, 0)
    """

    def __init__(self, found: StoredMap, platform: str) -> None:
        links = found.links
        size = len(found.accounts)
        into, out = (np.bincount(ends, minlength=size).tolist() for ends in (links.target, links.source))
        at = compute_large_layout(size, links.source, links.target).tolist()
        rows = [
            (
                one.name,
                one.id,
                one.relevance,
                one.act or None,
                into[place],
                out[place],
                *at[place],
                find_account_page(platform, None if one.name == one.id else one.name, one.id),
            )
            for place, one in enumerate(found.accounts)
        ]
        heaviest = np.sort(np.argsort(-links.alpha, kind="stable")[:MOST_EDGES])
        self.nodes = Table("map_nodes", make_columns(MAP_COLUMNS), lambda size: split_rows(rows, size))
        self.edges = list(zip(links.source[heaviest].tolist(), links.target[heaviest].tolist(), strict=True))
        self.left_out = len(links.alpha) - len(heaviest)
        self.read, self.unread, self.alone = found.read, found.unread, found.alone
        self._size = size

    def __repr__(self) -> str:
        return f"<NetworkMap of {self._size:,} accounts>"


class Network:
    """The directed network of mentions of a campaign, without mentions of oneself.

    Attributes:
        nodes: a table of the accounts.
        edges: a table of who mentions whom.

    Example:
        >>> network = data.network()
        >>> [node["account"] for node in network.nodes if node["relevance"]]
        ['ann', 'ben', 'dora', 'fay', 'hana']
        >>> len(network.edges.to_arrow())
        8
    """

    def __init__(self, session: ReadSession, number: int, name: str, *, on_topic: bool) -> None:
        self._session = session
        self._parameters: Mapping[str, Any] = {"number": number, "name": name, "on_topic": int(on_topic)}
        self._labels: dict[int, str] | None = None
        self.nodes = Table("nodes", make_columns(NODE_COLUMNS), self._read_nodes)
        self.edges = Table("edges", make_columns(EDGE_COLUMNS), self._read_edges)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the edges as a pandas data frame.

        Example:
            >>> data.network().to_pandas()[["source", "target", "posts"]].head(2)
              source target  posts
            0    ann   cleo      1
            1    ann    ben      2
        """
        return self.edges.to_pandas()

    def to_networkx(self) -> "nx.DiGraph[str]":
        """Return a networkx `DiGraph`, whose nodes are account names.

        Nodes have the attributes account_id, collected, relevance and occurrences; edges weight (posts), alpha,
        first_at and last_at. What is unknown is left out, as GEXF and GraphML have no missing values.

        Example:
            >>> print(data.network().to_networkx())
            DiGraph with 7 nodes and 8 edges
        """
        graph = import_library("networkx").DiGraph()
        for node in self.nodes:
            graph.add_node(node.pop("account"), **_drop_missing(node))
        for edge in self.edges:
            graph.add_edge(edge.pop("source"), edge.pop("target"), weight=edge.pop("posts"), **_drop_missing(edge))
        return graph

    def to_igraph(self) -> "igraph.Graph":
        """Return a directed igraph `Graph`, whose vertices and edges have the columns of `nodes` and `edges`.

        Example:
            >>> data.network().to_igraph().vs["name"][:3]
            ['ann', 'cleo', 'ben']
        """
        nodes, edges = list(self.nodes), list(self.edges)
        graph = import_library("igraph").Graph(directed=True)
        place = {node["account"]: number for number, node in enumerate(nodes)}
        graph.add_vertices(len(nodes))
        for name in NODE_COLUMNS:
            graph.vs["name" if name == "account" else name] = [node[name] for node in nodes]
        graph.add_edges([(place[edge["source"]], place[edge["target"]]) for edge in edges])
        for name in ("posts", "alpha", "first_at", "last_at"):
            graph.es["weight" if name == "posts" else name] = [edge[name] for edge in edges]
        return graph

    @check_arguments(limit=make_whole_rule(1))
    def compute_map(self, limit: int = 5_000) -> NetworkMap:
        """Return the part of the network that fits into a picture, with places: the same each time.

        The accounts that were read come first, the most relevant first (of equals, the one that was read first), and
        fill at most four fifths of the limit. Then come accounts that were not read, those first that most of the
        others mention or are mentioned by. Accounts that no mention joins to the others are left out, and make room for
        more that were not read.

        Args:
            limit: the largest number of accounts.

        Example:
            >>> drawn = data.network(on_topic=True).compute_map(limit=5)
            >>> [node["account"] for node in drawn.nodes]
            ['dora', 'ann', 'ben', 'fay']
        """
        number, on_topic = self._parameters["number"], bool(self._parameters["on_topic"])
        with self._session.open_reader() as connection, join_transaction(connection):
            found = read_network_map(connection, number, limit, on_topic=on_topic)
            platform = CampaignTraces(connection).read_campaign(self._parameters["name"]).platform
        return NetworkMap(found, platform)

    def __repr__(self) -> str:
        return "<Network of mentions>"

    def _read_nodes(self, size: int) -> Iterator[Sequence[Sequence[Any]]]:
        labels = self._find_labels()
        for rows in self._session.stream(NODES, self._parameters, size):
            yield [(labels[row[0]], row[2], row[3] is not None, row[3], row[4]) for row in rows]

    def _read_edges(self, size: int) -> Iterator[Sequence[Sequence[Any]]]:
        labels = self._find_labels()
        for rows in self._session.stream(EDGES, self._parameters, size):
            yield [(labels[row[0]], labels[row[1]], *row[2:]) for row in rows]

    def _find_labels(self) -> dict[int, str]:
        """Return a unique label for each node: platforms give a name that became free to another account."""
        if self._labels is None:
            names = {
                row[0]: str(row[1]) for rows in self._session.stream(NODES, self._parameters, SIZE) for row in rows
            }
            seen = Counter(names.values())
            self._labels = {node: name if seen[name] == 1 else f"{name} #{node}" for node, name in names.items()}
        return self._labels


def _drop_missing(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
