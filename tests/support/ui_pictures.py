"""Pictures of the web application, to be looked at: `python tests/support/ui_pictures.py OUT [FOLDER]`.

Without a folder of campaigns, two demos and campaigns of the other kinds run first. Widths of a phone, a tablet and a
large screen, light and dark.
`python tests/support/ui_pictures.py --live FILE` draws the picture of the README: `socialcrawl demo --ui` half-way;
`--label FILE` that of a post to label, and `--overview FILE` that of the list of campaigns.
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
from kind_campaigns import make_refresh, make_sample, make_track
from PIL import Image
from web_pages import browsing, served
from x_crawls import TOPIC, posts_file

WIDTHS = (400, 1024, 1920)
SCHEMES = ("light", "dark")
QUESTIONS = ("best_accounts", "topic_by_day", "yield_by_steps")


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
                    shots |= {"new": f"{pages.url}new", "form": f"{pages.url}new?kind=collect&platform=x"}
                    own = links[0]
                    shots |= {
                        name: f"{own}/{name}" for name in ("accounts", "search", "sql", "export", "label", "edit")
                    }
                    shots |= {"found": f'{own}/search?query=eclipse+OR+"telescope+is"&topic=all'}
                    shots |= {"wrong": f"{own}/search?query=-moon&author=nobody"}
                    shots |= {f"sql-{name}": f"{own}/sql?question={name}" for name in QUESTIONS}
                    shots |= {"sql-wrong": f"{own}/sql?query=select+nothing+from+post"}
                    shots |= {f"control{place}": f"{link}/control" for place, link in enumerate(links[:6])}
                    page.goto(shots["accounts"])
                    first = page.locator(".account a").first
                    if first.count():
                        shots["account"] = first.evaluate("one => one.href")
                    shots |= {f"next{place}": f"{link}/next" for place, link in enumerate(links[:6])}
                    shots |= {f"network{place}": f"{link}/network" for place, link in enumerate(links[:6])}
                    for name, url in shots.items():
                        page.goto(url)
                        if name.startswith(("campaign", "form", "network", "sql-")):
                            page.wait_for_timeout(2_500)
                        page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
                        if name.startswith("network") and page.locator("canvas").is_visible():
                            find_first(page)
                            page.screenshot(path=out / f"{name}-found-{width}-{scheme}.png")
                    complaints = [one for one in page.complaints if "status of 422" not in one]  # of wrong queries
                    assert (page.elsewhere, complaints) == ([], [])


def find_first(page) -> None:
    """Choose the first account of a map."""
    page.get_by_label("Find an account").fill(page.locator("table .account a").first.inner_text())
    page.keyboard.press("Enter")
    page.wait_for_timeout(400)


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


def take_label_picture(out: Path, folder: Path) -> None:
    """Take the picture of a post to label, after a model was trained from the labels of 40."""
    socialcrawl("demo", "--db", "astronomy.db", "--steps", "150", folder=folder)
    with served(folder / "astronomy.db", state=folder / "state") as pages:
        bearer = {"authorization": f"Bearer {pages.token}"}
        with httpx.Client(base_url=pages.url, headers=bearer, timeout=60) as client:
            own = f"api/v1/campaigns/{client.get('api/v1/campaigns').json()['campaigns'][0]['key']}"
            for post in client.get(f"{own}/label-queue", params={"limit": 40}).json()["posts"]:
                client.put(f"{own}/labels", json={"post": post["id"], "on_topic": "telescope" in post["text"]})
            client.post(f"{own}/models", json={"learner": "logistic"}).raise_for_status()
        with browsing(viewport={"width": 1200, "height": 900}) as page:
            page.goto(f"{pages.url}login#token={pages.token}")
            page.wait_for_url(pages.url)
            page.locator("th a").first.click()
            page.get_by_role("link", name="Label posts").click()
            page.get_by_role("button", name="Undo").wait_for()
            page.wait_for_timeout(1_000)
            end = page.locator("#train").bounding_box()
            clip = {"x": 0, "y": 0, "width": 1200, "height": end["y"] + end["height"] + 12}
            page.screenshot(path=out, full_page=True, clip=clip)
    Image.open(out).convert("RGB").quantize(COLOURS).save(out, optimize=True)


def make_campaigns(folder: Path) -> None:
    """Run two demos and campaigns of the other kinds."""
    posts = str(posts_file(2_000))
    for words in (
        ("--db", "astronomy.db", "--steps", "150", "--control", "0.1"),
        ("--kind", "capture", "--db", "week.db"),
    ):
        done = socialcrawl("demo", "--posts", posts, "--keyword", TOPIC, *words, folder=folder)
        assert done.returncode == 0, done.stderr
    for make in (make_track, make_refresh, make_sample):
        make(folder / f"{make.__name__.removeprefix('make_')}.db")


def take_overview_picture(out: Path, folder: Path) -> None:
    """Take the picture of the list of campaigns."""
    make_campaigns(folder)
    with served(folder, state=folder / "state") as pages, browsing(viewport={"width": 1240, "height": 900}) as page:
        page.goto(pages.url)
        page.get_by_text("Live: changes appear by themselves.").wait_for()
        end = page.locator("[data-events]").bounding_box()
        page.screenshot(
            path=out, full_page=True, clip={"x": 0, "y": 0, "width": 1240, "height": end["y"] + end["height"] + 16}
        )
    Image.open(out).convert("RGB").quantize(COLOURS).save(out, optimize=True)


PICTURES = {"--live": take_live_picture, "--label": take_label_picture, "--overview": take_overview_picture}

if __name__ == "__main__":
    if sys.argv[1] in PICTURES:
        with TemporaryDirectory() as made:
            PICTURES[sys.argv[1]](Path(sys.argv[2]), Path(made))
        sys.exit()
    out = Path(sys.argv[1])
    with TemporaryDirectory() as made:
        if len(sys.argv) > 2:
            take_pictures(out, Path(sys.argv[2]), Path(made))
        else:
            make_campaigns(Path(made))
            take_pictures(out, Path(made), Path(made) / "state")
