"""The web application for tests: served by a real process over loopback, opened by the system's Chromium."""

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from contextlib import closing, contextmanager
from html.parser import HTMLParser

import httpx
import uvicorn
from commands import COMMAND, ENVIRONMENT

import socialcrawl as sc
from socialcrawl.system.host_names import AllowedHosts
from socialcrawl.web.security import Access, EndedSessions, LoginBackoff, LoginSessions
from socialcrawl.web.web_app import WebSettings, make_app

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage")  # as root, and in containers


class HeldClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, at=1_800_000_000.0):
        self.at = at

    def __call__(self):
        return self.at


class PageShape(HTMLParser):
    """The tags and names of attributes of a page, where its links lead, and its text."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.links, self.text = [], [], ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, [name for name, _ in attributes]))
        self.links += [value for name, value in attributes if name in ("href", "src", "action")]

    def handle_data(self, data):
        self.text += data


TOKEN = "0123456789abcdef" * 4


@contextmanager
def serving(*places, clock=None, closed=False, interval=0.05, patience=120.0, ended=None):
    """A client of the pages of some campaigns, which a thread serves over loopback; it does not follow redirects."""
    clock = clock or HeldClock()
    sessions = LoginSessions(TOKEN, clock, EndedSessions(ended))
    access = Access(sessions, LoginBackoff(clock), closed=closed)
    settings = WebSettings(access, clock, AllowedHosts.of([], listening="127.0.0.1"), interval, patience)
    app = make_app(sc.open_project(*places), settings)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        config = uvicorn.Config(  # uvicorn's own loggers stay as they are: other tests of this process read them
            app, log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        server.capture_signals = closing_nothing
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=120) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def closing_nothing():
    """Leave signals to the test run."""
    yield


def log_in(client, token=TOKEN):
    """The CSRF token of a session that the client has from now on."""
    client.headers.pop("authorization", None)
    done = client.post("/login", data={"token": token})
    assert done.status_code == 303, done.text
    return re.search(r'name="csrf" value="(\w+)"', client.get("/").text)[1]


class Pages:
    """Pages that are served: their address, the token, and the process."""

    def __init__(self, url, token, child):
        self.url, self.token, self.child = url, token, child


@contextmanager
def served(*words, state, within=300.0, **variables):
    """The pages of `socialcrawl ui`, until the block ends; `state` is the folder of the token."""
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(state), **variables}
    asking = [*COMMAND, "ui", *map(str, words), "--port", "0", "--no-open"]
    child = subprocess.Popen(asking, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True)
    try:
        said = ""
        while "#token=" not in said:
            line = child.stderr.readline()
            assert line, said
            said += line
        url = re.search(r"http://\S+?/(?= until)", said)[0]
        until = time.monotonic() + within
        while time.monotonic() < until:
            try:
                httpx.get(f"{url}static/ui.css", timeout=30)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield Pages(url, re.search(r"#token=(\w+)", said)[1], child)
    finally:
        if child.poll() is None:
            child.terminate()
        child.stderr.read()
        child.wait(60)
        child.stderr.close()


def find_browser():
    """The system's Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browsing(**context):
    """A page of a browser that opens no other host, and what it saw: requests elsewhere, complaints of the console."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find_browser(), args=list(FLAGS), env=dict(os.environ))
        page = open_page(browser, **context)
        yield page
        browser.close()


def open_page(browser, **context):
    """A page of a fresh context, without cookies; it opens no other host, and counts what `browsing` says."""
    opened = browser.new_context(**context)
    page = opened.new_page()
    page.elsewhere, page.complaints = [], []

    def route(handle):
        if re.match(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:", handle.request.url):
            handle.continue_()
        else:
            page.elsewhere.append(handle.request.url)
            handle.abort()

    opened.route("**/*", route)
    page.on("console", lambda one: page.complaints.append(one.text) if one.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    return page


UNLINKED = ("login", "nowhere")
"""Pages to look at beside those that links lead to: add here what none leads to."""


def open_settled(page, address):
    """Open a page and wait for what takes long to read, with which it reloads itself."""
    page.goto(address)
    page.locator("[data-later]").wait_for(state="detached")


def list_pages(page, url):
    """The addresses of the pages, one of each path: those that links lead to from the overview on, and UNLINKED."""
    found, left = {}, [url, *(f"{url}{one}" for one in UNLINKED)]
    while left:
        address = left.pop(0)
        place = re.sub(r"[?#].*", "", address)
        if place in found or not address.startswith(url) or re.search(r"/(api|static)/|\.\w+$", place):
            continue
        found[place] = address
        open_settled(page, address)
        left += page.locator("a[href]:not([download])").evaluate_all("all => all.map(one => one.href)")
    return list(found.values())
