"""Pictures of the web application, to be looked at: `python tests/support/ui_pictures.py OUT [FOLDER]`.

Without a folder of campaigns, two demos run first. Widths of a phone, a tablet and a large screen, light and dark.
`python tests/support/ui_pictures.py --live FILE` draws the picture of the README: `socialcrawl demo --ui` half-way.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from commands import COMMAND, ENVIRONMENT, socialcrawl
from PIL import Image
from web_pages import browsing, served

WIDTHS = (400, 1024, 1920)
SCHEMES = ("light", "dark")


def take_pictures(out: Path, folder: Path, state: Path) -> None:
    """Take a picture of each page in each width and scheme."""
    out.mkdir(parents=True, exist_ok=True)
    with served(folder, state=state) as pages:
        for scheme in SCHEMES:
            for width in WIDTHS:
                size = {"width": width, "height": 900}
                with browsing(color_scheme=scheme, viewport=size) as page:
                    page.goto(f"{pages.url}login#token={pages.token}")
                    page.wait_for_url(pages.url)
                    shots = {"overview": pages.url, "login": f"{pages.url}login"}
                    links = page.locator("th a").evaluate_all("all => all.map(one => one.href)")
                    shots |= {f"campaign{place}": link for place, link in enumerate(links[:6])}
                    shots |= {f"control{place}": f"{link}/control" for place, link in enumerate(links[:6])}
                    shots |= {"accounts": f"{links[-1]}/accounts", "posts": f"{links[-1]}/posts"}
                    page.goto(shots["accounts"])
                    first = page.locator(".account a").first
                    if first.count():
                        shots["account"] = first.evaluate("one => one.href")
                    for name, url in shots.items():
                        page.goto(url)
                        if name.startswith("campaign"):
                            page.wait_for_timeout(2_500)
                        page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
                    assert (page.elsewhere, page.complaints) == ([], [])


LIVE = 250  # steps of 600 after which the picture is taken
COLOURS = 128  # of the picture, which is small then


def take_live_picture(out: Path, folder: Path) -> None:
    """Take the picture of a demo under way, as its page shows it."""
    child = subprocess.Popen(
        [*COMMAND, "demo", "--ui", "--control", "0.1"], cwd=folder, start_new_session=True, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "XDG_STATE_HOME": str(folder), "BROWSER": "true"},
    )  # fmt: skip
    try:
        line = ""
        while "served at " not in line:
            line = child.stderr.readline()
        url = line.split("served at ")[1].split(";")[0]
        steps = 0
        while steps < LIVE:
            time.sleep(1)
            with httpx.Client(transport=httpx.HTTPTransport(retries=5)) as client:
                (one,) = client.get(f"{url}api/v1/campaigns", timeout=60).json()["campaigns"] or ({"steps": 0},)
            steps = one["steps"]
        with browsing(viewport={"width": 1100, "height": 900}) as page:
            page.route("**/events", lambda route: route.abort())  # so that what is left out stays so
            page.goto(f"{url}campaigns/{one['key']}")
            page.locator(".main-svg").first.wait_for()
            for left_out in ("#top", "#steering", ".lead .quiet"):  # words, for room, and the name of this machine
                page.locator(left_out).evaluate("one => { one.hidden = true }")
            page.wait_for_timeout(1_000)
            page.screenshot(path=out, full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": 870})
    finally:
        os.killpg(child.pid, signal.SIGINT)
        child.wait(60)
    Image.open(out).convert("RGB").quantize(COLOURS).save(out, optimize=True)


if __name__ == "__main__":
    if sys.argv[1] == "--live":
        with TemporaryDirectory() as made:
            take_live_picture(Path(sys.argv[2]), Path(made))
        sys.exit()
    out = Path(sys.argv[1])
    with TemporaryDirectory() as made:
        if len(sys.argv) > 2:
            take_pictures(out, Path(sys.argv[2]), Path(made))
        else:
            socialcrawl("demo", "--db", "astronomy.db", "--steps", "150", "--control", "0.1", folder=made)
            socialcrawl("demo", "--kind", "capture", "--db", "week.db", folder=made)
            take_pictures(out, Path(made), Path(made) / "state")
