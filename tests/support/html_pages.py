"""What the tests of HTML reports share: a page as its parser sees it, and the check that it needs nothing else."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link", "base", "embed", "source", "wbr", "col", "area"}
REFERENCES = {"href", "src", "srcset", "action", "formaction", "data", "poster", "background", "ping", "xlink:href"}
LOADING = {
    "script",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "img",
    "image",
    "form",
    "audio",
    "video",
    "foreignobject",
}


class Page(HTMLParser):
    """A parsed page.

    Attributes:
        tags: (tag, attributes) in order.
        texts: the text of the page, without its style.
        sections: the text below each id.
        tables: the cells of each table, row by row, by caption.
        style: its style sheet.
    """

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.sections, self.tables, self.style = [], [], {}, {}, ""
        self._open, self._rows = [], []
        self.feed(source)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        assert len(found) == len(attributes), "an attribute twice"
        self.tags.append((tag, found))
        if tag not in VOID:
            self._open.append((tag, found.get("id")))
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open, tag
        assert self._open.pop()[0] == tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        inside = [tag for tag, _ in self._open]
        if "style" in inside:
            self.style += data
            return
        self.texts.append(data)
        for _, name in self._open:
            if name is not None:
                self.sections[name] = self.sections.get(name, "") + data
        if "caption" in inside:
            self._caption = data
        if {"td", "th"} & set(inside):
            self._rows[-1][-1] += data

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def check_page(source):
    """The parsed page; it needs nothing but itself, runs nothing, and says what its pictures show."""
    page = Page(source)
    ids = [found["id"] for _, found in page.tags if "id" in found]
    assert len(ids) == len(set(ids))
    assert not LOADING & {tag for tag, _ in page.tags}
    for tag, found in page.tags:
        assert not [name for name in found if name.startswith("on")], (tag, found)
        for name, value in found.items():
            if name in REFERENCES:
                assert value.startswith("#"), (tag, name, value)
                assert value[1:] in ids
            for target in re.findall(r"url\(([^)]*)\)", value or ""):
                assert target.startswith("#"), (tag, name, value)
                assert target[1:] in ids
            if name == "aria-labelledby":
                assert set(value.split()) <= set(ids)
        if tag == "svg":
            assert found["role"] == "img"
            for name in found["aria-labelledby"].split():
                assert page.sections[name].strip()
    assert not re.search(r"url\(|@import|//", page.style.replace("/* ", ""))
    figures = sum(tag == "figure" for tag, _ in page.tags)
    assert figures == sum(tag == "svg" for tag, _ in page.tags) == sum(tag == "figcaption" for tag, _ in page.tags)
    return page
