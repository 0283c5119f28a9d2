"""What pages insert: any text is shown as text, links lead to http and https only, curves are numbers."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web_pages import PageShape

from socialcrawl import CampaignStatus
from socialcrawl.crawls.facts import BUILT_IN, KindFacts
from socialcrawl.text.post_query import parse_query
from socialcrawl.text.terminal import escape_controls
from socialcrawl.web.data_models import PRESETS, IndexItem, KeptExportItem, PostChoice
from socialcrawl.web.data_pages import mark_words
from socialcrawl.web.data_reading import ReadAnswer
from socialcrawl.web.file_edits import BUDGET, BudgetForm, EditableSettings
from socialcrawl.web.overview_choice import OverviewChoice
from socialcrawl.web.page_templates import FOLDER, format_value, make_templates, make_web_link
from socialcrawl.web.query_charts import QueryChart
from socialcrawl.web.security import PageVisitor
from socialcrawl.web.sparkline import draw_sparkline

TEMPLATES = make_templates()
NASTY = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "</title><script>", "{{ 7*7 }}",
                     "javascript:alert(1)", "&lt;b&gt;", "\u202eevil", "{% include 'x' %}", "' onclick='x"]),
)  # fmt: skip


def status_of(text, **more):
    given = {"key": "one-00000000", "name": text, "kind": text, "platform": text, "state": "running", "why": text,
             "since": None, "until": None, "daemon": text, "database": text, "file": text,
             "alerts": (text,)}  # fmt: skip
    return CampaignStatus(**(given | more))


def list_exports(text):
    given = {"id": "0", "title": text, "begun": "2026-01-01T00:00", "deleted": "2026-01-02T00:00", "rows": 9, "size": 9}
    return [
        KeptExportItem(**given, writing=writing, why=why) for writing, why in ((text, ""), (None, text), (None, ""))
    ]


def page_of(text, template):
    post = {"id": "1", "author": text, "author_id": text, "created_at": None, "occurrences": 1,
            "marked": mark_words(text, parse_query("nowhere")), "page": "https://example.org/1"}  # fmt: skip
    account = {"place": 1, "account": text, "account_id": text, "relevance": 1.0, "occurrences": 1, "posts": 1,
               "act": text, "step": None, "page": "https://example.org/a"}  # fmt: skip
    values = {"posts": [post], "accounts": [account], "more": None, "status": status_of(text),
              "campaigns": [status_of(text)], "total": 9, "few": 5, "places": {"one-00000000": text},
              "choice": OverviewChoice("words"), "states": ["running"], "place": text,
              "visitor": PageVisitor(known=True, csrf="c"), "title": text, "text": text,
              "name": text, "page": None, "cost": text, "note": text, "offers": True,
              "shown": BudgetForm(text, {"steps": text}, {"steps": text}), "conflict": [(text,) * 4],
              "given": {"seeds": text}, "wrong": dict.fromkeys(("", "steps", "seeds"), text), "budget": BUDGET,
              "most_names": 1, "forms": EditableSettings(text, {"steps": 1}, {"seeds": [text] * 2})}  # fmt: skip
    values |= {"wanted": PostChoice(query=text, author=text, since=text, until=text), "begun": True, "terms": text,
               "errors": dict.fromkeys(("query", "author", "since", "until"), text), "why": text, "query": text,
               "index": IndexItem(needed=True, running=False, posts=0, why=text), "queries": [], "chosen": None,
               "answer": ReadAnswer([text], ["text"], [[text]], more=True), "longest": 1, "seconds": "1", "most": 1,
               "largest": 1, "chart": QueryChart("bar", "category", 0, (0,)), "style_ids": [],
               "count": 1, "has_key": True, "presets": PRESETS,
               "exports": list_exports(text), "login": "/login", "button": ("start", text)}  # fmt: skip
    if template == "account.html":
        values["text"] = ""
    return PageShape(TEMPLATES.get_template(template).render(**values))


@pytest.mark.parametrize("template", ["search.html", "sql.html", "export.html", "accounts.html", "overview.html",
                                      "message.html", "account.html", "control.html",
                                      "control_answer.html"])  # fmt: skip
@settings(deadline=None)
@given(text=NASTY)
def test_names_and_texts_of_others_change_no_tag_and_no_attribute_of_a_page(template, text):
    page = page_of(text, template)
    plain = page_of("1" if text.isdecimal() else "plain", template)  # who is known by an id only cannot be a seed
    if text:  # an empty kind is left out
        assert page.tags == plain.tags
    assert "".join(escape_controls(text).split()) in "".join(page.text.split())
    assert all(link.startswith(("/", "?", "#main", "https://example.org/")) for link in page.links)


@given(NASTY)
def test_a_link_leads_to_http_or_https_or_nowhere(text):
    assert make_web_link(text) is None or text.startswith(("http://", "https://"))


@pytest.mark.parametrize(
    ("address", "found"),
    [("https://x.com/a", True), ("http://a.example/?q=1", True), ("javascript:alert(1)", False), (None, False),
     ("data:text/html,x", False), (" https://x.com", False), ("https://", False), ("java\nscript:x", False),
     ("HTTPS://x.com", True), ("//x.com", False), ("https://[", False)],
)  # fmt: skip
def test_links_are_those_of_the_web(address, found):
    assert (make_web_link(address) is not None) is found


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=60))
def test_a_sparkline_is_a_picture_with_a_text_that_stays_inside_of_its_frame(values):
    picture = ET.fromstring(draw_sparkline(values, 'says "<b>"'))
    assert picture.attrib["aria-label"] == 'says "<b>"'
    line = picture.findall("path")[1].attrib["d"]
    points = [tuple(map(float, point.strip("ML").split())) for point in line.split(" L")]
    assert len(points) == len(values)
    assert all(0 <= x <= 132 and 0 <= y <= 32 for x, y in points)
    assert "style" not in draw_sparkline(values, "")


def test_a_sparkline_rises_where_the_values_do_and_one_value_makes_none():
    line = ET.fromstring(draw_sparkline([0.0, 1.0, 2.0], "x")).findall("path")[1].attrib["d"]
    assert line == "M2.0 30.0 L66.0 16.0 L130.0 2.0"
    assert draw_sparkline([1.0], "x") == ""


def test_settings_are_shown_in_words():
    assert [format_value(one) for one in ("null", "true", '"hybrid"', "[1,2]")] == ["not set", "yes", "hybrid", "[1,2]"]
    assert len(format_value('"' + "a" * 500 + '"')) == 124


TABS = ["Report", "Network", "What comes next", "All accounts on topic", "Search posts", "Label posts", "SQL", "Export"]


@pytest.mark.parametrize(
    ("reads", "rates", "without"),
    [
        (True, True, set()),
        (True, False, {"All accounts on topic"}),
        (False, False, {"Network", "All accounts on topic"}),
    ],
)
def test_a_campaign_has_the_tabs_of_what_its_kind_finds(reads, rates, without, monkeypatch):
    monkeypatch.setitem(BUILT_IN, "census", KindFacts("census", "", reads_accounts=reads, rates_accounts=rates))
    status = status_of("a", kind="census", file=None)
    text = TEMPLATES.get_template("campaign_tabs.html").render(status=status, here="")
    assert [tab for tab in TABS if f">{tab}</a>" not in text] == [tab for tab in TABS if tab in without]


def test_no_template_knows_a_kind_by_its_name():
    named = re.compile(rf"""kind\s*(?:==|!=|in\b)|["'](?:{"|".join(BUILT_IN)})["']""")
    assert named.search('{% if status.kind == "census" %}')
    assert named.search("{{ {'capture': 1}[status.kind] }}")
    texts = {path.name: path.read_text("utf-8") for path in (FOLDER / "templates").iterdir()}
    found = {name: named.findall(re.sub(r'class="[^"]*"', "", text)) for name, text in texts.items()}
    assert len(found) > 20
    assert not {name: names for name, names in found.items() if names}
