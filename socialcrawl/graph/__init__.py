"""The graph as far as it is known: nodes, links, relevance and liveness. Pure."""
