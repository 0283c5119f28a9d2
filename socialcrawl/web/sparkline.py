"""A small curve as inline SVG: no script, no style attributes; its colours are those of the style sheet."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

WIDTH, HEIGHT, EDGE = 132.0, 32.0, 2.0  # units of the picture; a line at the edge would be cut


def draw_sparkline(values: Sequence[float], said: str) -> str:
    """Return a picture of a curve that begins at 0; "" where there are less than two values.

    Args:
        values: at equal distances, 0 or more.
        said: what it shows, for those who do not see it.
    """
    if len(values) < 2:
        return ""
    top, wide = max(*values, 1e-9), (WIDTH - 2 * EDGE) / (len(values) - 1)
    points = [
        f"{EDGE + place * wide:.1f} {HEIGHT - EDGE - value / top * (HEIGHT - 2 * EDGE):.1f}"
        for place, value in enumerate(values)
    ]
    line = f"M{' L'.join(points)}"
    picture = ET.Element(
        "svg", {"class": "spark", "viewBox": f"0 0 {WIDTH:.0f} {HEIGHT:.0f}", "role": "img", "aria-label": said}
    )
    floor = f"{HEIGHT - EDGE:.1f}"
    ET.SubElement(picture, "path", {"class": "spark-area", "d": f"{line} V{floor} H{EDGE:.1f} Z"})
    ET.SubElement(picture, "path", {"class": "spark-line", "d": line})
    return ET.tostring(picture, encoding="unicode")
