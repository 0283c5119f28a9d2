"""Known graphs: built from posts, pages or edges, checked, saved as a folder and opened again.

from_texts    from a file of posts, or of pages with hyperlinks, and a topic
from_edges    from a list of edges, with or without weights and values
graph_folder  a folder of .npy, memory-mapped, or a .npz; the rows to start from
checks        what a graph has to be; self-links and duplicate links
csr_links     parallel links added up into compressed sparse rows
column_files  Parquet and CSV files as columns
timed_links   links with times
"""

from socialcrawl.lab.graphs.checks import check_graph
from socialcrawl.lab.graphs.from_edges import build_edge_graph
from socialcrawl.lab.graphs.from_texts import build_mention_graph, build_page_graph
from socialcrawl.lab.graphs.graph_folder import find_rows, read, read_seeds, write

__all__ = [
    "build_edge_graph", "build_mention_graph", "build_page_graph", "check_graph", "find_rows", "read", "read_seeds",
    "write",
]  # fmt: skip
