"""The latest windows of a rate limit as inline SVG, a bar each: no script; its colours are those of the style sheet."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from xml.etree import ElementTree as ET

from socialcrawl import CampaignStatus
from socialcrawl.text.wording import format_span, pluralize

HEIGHT, BAR, GAP, PAUSE = 24.0, 4.0, 1.5, 3.0  # units of the picture; a pause is wider than a gap
SLOTS = 24  # windows for which there is room in any case
FULL = 0.99  # of a window from which on it is drawn as full


def draw_window_strip(status: CampaignStatus) -> str:
    """Return a picture of how far each of the latest windows of a campaign was used; "" where none is known."""
    if not status.windows or status.window_limit is None or status.window_length is None:
        return ""
    top = max(status.window_limit, *status.windows)
    begins = [datetime.fromisoformat(begin).timestamp() for begin in status.window_begins]
    pauses = [later - earlier >= 2 * status.window_length for earlier, later in pairwise(begins)]
    needed = len(pauses) * (BAR + GAP) + BAR + PAUSE * sum(pauses)
    wide = max(needed, SLOTS * (BAR + GAP) - GAP)
    left, bars = wide - needed, []  # the newest one is at the right
    for count, pause in zip(status.windows, [False, *pauses], strict=True):
        left += PAUSE if pause else 0.0
        high = max(1.5, HEIGHT * count / top)
        bars.append({"x": f"{left:.1f}", "y": f"{HEIGHT - high:.1f}", "width": f"{BAR:g}", "height": f"{high:.1f}"})
        left += BAR + GAP
    picture = ET.Element(
        "svg",
        {"class": "strip", "viewBox": f"0 0 {wide:.1f} {HEIGHT:g}", "width": f"{wide:.0f}", "height": f"{HEIGHT:g}",
         "role": "img", "aria-label": describe_windows(status)},
    )  # fmt: skip
    line = f"{HEIGHT * (1 - status.window_limit / top):.1f}"
    ET.SubElement(picture, "rect", {"class": "strip-room", "y": line, "width": f"{wide:.1f}", "height": f"{HEIGHT:g}"})
    for bar, count in zip(bars, status.windows, strict=True):
        full = count >= FULL * status.window_limit
        ET.SubElement(picture, "rect", {"class": "strip-bar full" if full else "strip-bar", **bar})
    return ET.tostring(picture, encoding="unicode")


def describe_windows(status: CampaignStatus) -> str:
    """Return the same in words."""
    windows: Sequence[int] = status.windows
    length, limit = format_span(status.window_length or 0.0), status.window_limit or 0
    return (
        f"The latest {pluralize(len(windows), 'window')} of {length}, {limit:,} requests allowed with one token: "
        f"{', '.join(f'{count:,}' for count in windows)} sent"
    )
