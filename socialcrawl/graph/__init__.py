"""The known part of the graph: nodes, links, relevance, liveness. Pure."""
