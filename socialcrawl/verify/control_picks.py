"""Which picks an export says were drawn for comparison, held against the seed and settings that decide it."""

from socialcrawl.errors import PostsFileError
from socialcrawl.exporters.restore import Reader
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.control_picks import find_drawn
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.verify.findings import Check

EARLIER = "an earlier version wrote the export, which did not say which picks were drawn"
COLUMNS = ("campaign", "n", "drawn")


def check_drawn(connection: Opened, read: Reader, why: str | None) -> Check:
    """Check the column `drawn` of the table of picks.

    Args:
        connection: the tables, as `restored` has them.
        read: gives the cells of some columns of a table, row by row.
        why: the settings are not known; None: they are.
    """
    check, traces = Check("drawn picks"), CampaignTraces(connection)
    drawn: dict[str, dict[int, str]] = {}
    try:
        for campaign, n, told in read("picks", COLUMNS):
            if why is not None:
                check.leave(why)
                continue
            if campaign not in drawn:
                drawn[campaign] = find_drawn(traces, campaign)
            check.prove(check.compare(f"pick {n} of {campaign}", "drawn", told, drawn[campaign].get(n)))
    except PostsFileError:
        check.leave(EARLIER)
    return check
