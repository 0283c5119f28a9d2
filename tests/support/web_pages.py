"""The web application for tests: served by a real process over loopback, opened by the system's Chromium."""

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager

import httpx
from commands import COMMAND, ENVIRONMENT

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage")  # as root, and in containers


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
        yield page
        browser.close()
