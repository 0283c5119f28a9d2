"""A model of texts for people: from how many posts it was learned, how well it judges others, and by which words."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from socialcrawl.crawls.text_models.text_model import TextModel
from socialcrawl.render.console import Console, Text
from socialcrawl.text.wording import pluralize

REMEDY = (
    "A campaign judged by it would be one of something else: label more posts by hand, and leave out words that it "
    "should not lean on."
)


def show_model(console: Console, model: TextModel, place: str) -> None:
    """Print what is known of a model; `place` says where it is."""
    about = model.about
    left = f"; left out: {about['same']:,} with the words of another, {about['torn']:,} given as both"
    posts = pluralize(about["on_topic"], "post")
    console.print(f"{posts} on topic, {about['off_topic']:,} off it{left}", soft_wrap=True)
    console.print()
    console.print(_make_confusion_table(about))
    precision, recall, f1, accuracy = (_format_score(about[key]) for key in ("precision", "recall", "f1", "accuracy"))
    console.print(
        f"among these posts: precision {precision}, recall {recall}, F1 {f1}, accuracy {accuracy}; each of "
        f"{about['folds']} parts was judged by a model learned from the others. Where fewer posts are on topic than "
        "here, precision is lower.",
        soft_wrap=True,
    )
    console.print()
    console.print(_make_word_table(about))
    use = "" if about["doubt"] else "; use it as model under [topic], or as tree under [sample]"
    console.print(Text(f"{place}: {model.title}, {model.describe_size()}{use}"), soft_wrap=True)
    if about["doubt"]:
        console.print(Text(f"WARNING: {about['doubt']}. {REMEDY}"), soft_wrap=True)


def _format_score(score: float | None) -> str:
    return "nan" if score is None else f"{score:.2f}"


def _make_confusion_table(about: Mapping[str, Any]) -> Table:
    table = Table(title="judged, by what they are", title_justify="left", box=None, pad_edge=False)
    for name in ("", "said on topic", "said off topic"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    table.add_row("on topic", f"{about['right']:,}", f"{about['lost']:,}")
    table.add_row("off topic", f"{about['wrong']:,}", f"{about['kept_out']:,}")
    return table


def _make_word_table(about: Mapping[str, Any]) -> Table:
    table = Table(title="words that decide most", title_justify="left", box=None, pad_edge=False)
    table.add_column("word", overflow="fold")
    table.add_column("part", justify="right", no_wrap=True)
    table.add_column("speaks", no_wrap=True)
    for word, part, is_for in about["telling"]:
        table.add_row(Text(word), f"{part:.0%}", "for" if is_for else "against")
    return table
