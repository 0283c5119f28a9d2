"""The overview: which campaigns it shows in which order, what is told of their money, and its buttons."""

import re
from pathlib import Path

import pytest

from socialcrawl import CampaignStatus
from socialcrawl.web.overview_choice import OverviewChoice, list_states, make_choice, tell_apart
from socialcrawl.web.page_templates import make_templates
from socialcrawl.web.security import PageVisitor

TEMPLATES, ALL = make_templates(), OverviewChoice()


def status_of(name, state="running", **more):
    given = {"key": f"{name}-0", "name": name, "kind": "collect", "platform": "x", "state": state, "why": "",
             "since": None, "until": None, "daemon": None, "database": f"/data/{name}.db",
             "file": f"/data/{name}.toml"}  # fmt: skip
    return CampaignStatus(**(given | more))


def show(*campaigns, choice=ALL, csrf="", total=None, folder=None):
    """The text of the overview, and its HTML."""
    values = {"campaigns": choice.select(campaigns), "choice": choice, "total": total or len(campaigns), "few": 5,
              "places": tell_apart(campaigns, folder), "states": list_states(campaigns),
              "visitor": PageVisitor(known=True, csrf=csrf), "login": "/login"}  # fmt: skip
    page = TEMPLATES.get_template("overview.html").render(**values)
    return " ".join(re.sub(r"<[^>]*>", " ", page).split()), page


def names_of(found):
    return [one.name for one in found]


def test_campaigns_that_need_somebody_come_first_then_those_that_run_wait_and_are_done():
    states = ("done", "waiting", "paused", "running", "resting", "stalled", "running", "waiting")
    known = [status_of(f"{place}{state}", state) for place, state in enumerate(states)]
    known.append(status_of("alert", "done", alerts=("look",)))
    assert names_of(ALL.select(known)) == [
        "5stalled", "alert", "3running", "6running", "1waiting", "7waiting", "4resting", "2paused", "0done",
    ]  # fmt: skip
    assert list_states(known) == ["stalled", "running", "waiting", "resting", "paused", "done"]


@pytest.mark.parametrize(
    ("words", "state", "found"),
    [("", "", ["heat", "flood", "rain"]), ("HEAT", "", ["heat"]), ("collect x", "", ["heat", "rain"]),
     ("bluesky", "", ["flood"]), ("rain.db", "", ["rain"]), ("heat flood", "", []), ("", "done", ["rain"]),
     ("", "alerts", ["heat"]), ("heat", "done", [])],
)  # fmt: skip
def test_words_and_a_state_choose_campaigns(words, state, found):
    known = [status_of("flood", platform="bluesky"), status_of("heat", alerts=("look",)), status_of("rain", "done")]
    assert names_of(make_choice(words, state).select(known)) == found


def test_the_choice_stays_in_the_address_of_the_news_and_in_the_buttons():
    choice = make_choice("  a&b  <i> ", "running")
    assert choice.query == "?words=a%26b+%3Ci%3E&state=running"
    text, page = show(status_of("one"), choice=choice, csrf="c", total=7)
    assert f'data-events="/events{choice.query.replace("&", "&amp;")}"' in page
    assert "None of the 7 campaigns is like this" in text
    _, page = show(status_of("one", watched=True), choice=make_choice("", "running"), csrf="c")
    assert 'name="back" value="/?state=running"' in page
    assert re.findall(r'action="(/campaigns/[^"]*)"', page) == ["/campaigns/one-0/pause", "/campaigns/one-0/stop"]
    assert "/campaigns/one-0/pause" not in show(status_of("one", watched=True))[1], "nobody is logged in"


def test_few_campaigns_are_not_to_be_chosen_from():
    assert 'role="search"' not in show(*(status_of(str(n)) for n in range(5)))[1]
    assert 'role="search"' in show(*(status_of(str(n)) for n in range(6)))[1]


def test_campaigns_of_one_name_are_told_apart_by_their_databases():
    known = [status_of("one", key="a", database="/data/x/a.db"), status_of("one", key="b", database="/b.db"),
             status_of("two")]  # fmt: skip
    assert tell_apart(known, Path("/data")) == {"a": "x/a.db", "b": "/b.db"}
    text, _ = show(*known, folder=Path("/data"))
    assert "x/a.db" in text
    assert "two.db" not in text


def test_what_is_left_and_reserved_is_shown_and_nothing_is_paid_to_a_test_server():
    given = {"requests": 1234, "max_requests": 2000, "dollars": 4.3, "max_dollars": 5.0, "remaining_requests": 766,
             "remaining_dollars": 0.7, "reserved_requests": 2, "reserved_dollars": 0.5}  # fmt: skip
    text, _ = show(status_of("one", **given))
    assert "1,234 of 2,000 766 left, 2 reserved" in text
    assert "$4.30 of $5.00 $0.70 left, $0.50 reserved" in text
    text, page = show(status_of("one", **given, test_server=True))
    assert "nothing counted: $4.30 of $5.00" in text
    assert "(test server)" in text
    assert "Cost of one" not in page, "no bar of money"
    text, _ = show(status_of("one"))
    assert not re.search(r"left|reserved", text)


@pytest.mark.parametrize(
    ("more", "buttons", "raised"),
    [({"state": "running"}, ["Stop"], False), ({"state": "running", "watched": True}, ["Pause", "Stop"], False),
     ({"state": "idle"}, ["Start"], False), ({"state": "idle", "file": None, "requests": 9}, [], False),
     ({"state": "paused", "file": None, "requests": 9}, ["Resume"], False),
     ({"state": "done"}, [], True), ({"state": "done", "file": None}, [], False),
     ({"state": "done", "steps": 30, "planned_steps": 30}, [], True),
     ({"state": "done", "steps": 30, "planned_steps": 40}, ["Start"], False),
     ({"state": "stopped", "remaining_requests": 0}, [], True),
     ({"state": "stopped", "remaining_requests": 1}, ["Start"], False),
     ({"state": "stopped", "max_dollars": 5.0, "why": "the budget max_money = $5.00 is reached (...)"}, [], True),
     ({"state": "stopped", "why": "the budget max_posts = 300 is reached (...)"}, [], True),
     ({"state": "stopped", "max_dollars": 9.0, "why": "the budget max_money = $5.00 is reached (...)"}, ["Start"],
      False)],
)  # fmt: skip
def test_only_what_does_something_is_offered(more, buttons, raised):
    _, page = show(status_of("one", **more), csrf="c")
    assert [word for word in re.findall(r">(\w+)</button>", page) if word != "Show"] == buttons
    assert ('<a href="/campaigns/one-0/control">Raise its budget</a>' in page) is raised


def test_a_reason_is_said_once():
    text, _ = show(status_of("one", "down", why="X does not answer", alerts=("Down: X does not answer",)))
    assert text.count("X does not answer") == 1
    text, _ = show(status_of("one", "done", why="all is read", alerts=()))
    assert "all is read" in text
