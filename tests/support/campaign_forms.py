"""Forms of campaigns for tests: their fields as a browser sends them, and folders of campaign files."""

from html.parser import HTMLParser

FILE = """# ours, since May
name = "sky"
database = "sky.db"

[topic]
keywords = ["dark sky"]  # as we agreed

[seeds]
usernames = ["ann"]

[crawl]
steps = 30

[budget]
max_money = 5.0  # dollars

[source]
token_env = "X_BEARER_TOKEN"
"""


class FormFields(HTMLParser):
    """The fields of the form with an id, and the text of the page."""

    def __init__(self, source):
        super().__init__()
        self.values, self.disabled, self.invalid, self.text = {}, [], [], ""
        self._select = self._area = None
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        name = given.get("name")
        if tag in ("input", "select", "textarea") and name:
            if "disabled" in given:
                self.disabled.append(name)
                return
            if "aria-invalid" in given:
                self.invalid.append(name)
            self.values[name] = given.get("value", "")
            self._select = name if tag == "select" else None
            self._area = name if tag == "textarea" else None
        if tag == "option" and self._select and "selected" in given:
            self.values[self._select] = given.get("value", "")

    def handle_endtag(self, tag):
        if tag == "textarea" and self._area:
            self.values[self._area] = self.values[self._area].removeprefix("\n")
            self._area = None
        if tag == "select":
            self._select = None

    def handle_data(self, data):
        self.text += data
        if self._area:
            self.values[self._area] += data


def read_fields(answer):
    """The fields of the form of a page, as a browser would send them."""
    return FormFields(answer.text)


def write_file(folder, text=FILE, name="sky.toml"):
    """A campaign file in a folder."""
    (folder / name).write_text(text, "utf-8")
    return folder / name
