"""A text is returned and shown nowhere, also in a notebook."""

import rich.console

from socialcrawl.render.console import render_text


def test_in_a_notebook_a_rendered_text_is_returned_and_not_displayed(monkeypatch, capsys):
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    shown = []
    monkeypatch.setattr("rich.jupyter.display", lambda *given: shown.append(given))
    assert render_text(lambda console: console.print("three accounts")) == "three accounts\n"
    assert not shown
    assert capsys.readouterr().out == ""
