"""What an expression of PromQL reads and returns, by a parser of PromQL."""

import re
from dataclasses import dataclass, field
from typing import Any

INTERVALS = re.compile(r"\$__(rate_interval|interval|range)\b")  # of Grafana
SELECTED = re.compile(r"\$(instance|campaign)\b")  # variables of the dashboard


def fill_variables(expression: str, interval: str = "4m") -> str:
    """Return an expression of a dashboard as Grafana sends it while everything is selected."""
    return SELECTED.sub(".*", INTERVALS.sub(interval, expression))


@dataclass
class Read:
    """What an expression reads.

    Attributes:
        metrics: the names of the metrics.
        matched: (metric, label, value) of each matcher.
        named: labels that the expression groups, matches or joins by.
    """

    metrics: set[str] = field(default_factory=set)
    matched: list[tuple[str, str, str]] = field(default_factory=list)
    named: set[str] = field(default_factory=set)


def read_expression(expression: str) -> Read:
    """Return what an expression reads.

    Raises:
        ValueError: it is not PromQL.
    """
    import promql_parser as promql

    read = Read()

    def visit(node: Any) -> None:
        modifier = getattr(node, "modifier", None)
        if isinstance(node, promql.VectorSelector):
            assert node.name, f"a selector without a metric in {expression}"
            read.metrics.add(node.name)
            read.matched += [(node.name, matcher.name, matcher.value) for matcher in node.matchers.matchers]
        if isinstance(node, promql.AggregateExpr) and modifier is not None:
            read.named.update(modifier.labels)
        if isinstance(node, promql.BinaryExpr) and modifier is not None:
            read.named.update(modifier.matching.labels if modifier.matching else ())
            read.named.update(modifier.group_labels or ())

    promql.walk(promql.parse(expression), visit)
    return read
