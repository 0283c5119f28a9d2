"""Each option of the command line has one meaning: what commands say of it has the same word, and its value one type.

An option that only one command has is free. Whoever gives its name to another command, or says something else of it, is
asked here whether it means the same.
"""

import re

import pytest
import typer.main

from socialcrawl.cli.main import app
from socialcrawl.cli.old_spellings import RENAMED

MEANINGS = {
    "--allow-remote": ("other machines may connect", "machines"),
    "--campaign": ("the name of a campaign", "^Name of "),
    "--db": ("a database, or the campaign file that names it", "[Dd]atabase|The same|Where to store"),
    "--dry-run": ("show what would happen", "^Show what "),
    "--estimator": ("what orders accounts or nodes", "^Which "),
    "--expansion": ("the policies to compare", "^Compare only these"),
    "--file": ("links with timestamps", "^Links with timestamps"),
    "--force": ("replace what is there", "^Replace an existing"),
    "--format": ("the form of what is written", "Form of|Tables, network"),
    "--graph": ("a known graph", "graph.*folder or .npz"),
    "--graph-seed": ("the seed of generated graphs", "^(Of|Seed of) (the )?generated"),
    "--host": ("where a server listens", "Address to listen on"),
    "--jobs": ("how much is done at the same time", "^Parallel"),
    "--json": ("JSON instead of text", "JSON .*and nothing else"),
    "--kind": ("a kind of campaign", "^What to"),
    "--keyword": ("a word of the topic", "[Kk]eyword"),
    "--law": ("the law of generated links", "^Of the links"),
    "--limit": ("the maximum number of what is read or written", "[Mm]aximum number of"),
    "--links": ("the number of generated links", "Number of links|^(Links )?[Oo]f a generated"),
    "--max-money": ("the most dollars that X would charge", "dollars"),
    "--nodes": ("the number of generated nodes", "^(Of|Nodes of) a generated"),
    "--objective": ("what a crawl is judged by", "^(Total value|sum of values)"),
    "--on-topic": ("what is on topic, and what counts as that", "as on topic|the topic"),
    "--out": ("where to write", "write|Folder for|Where .* go"),
    "--pages": ("a file of pages", "[Pp]ages"),
    "--pages-per-user": ("the most pages of a timeline", "^Pages of "),
    "--per-window": ("requests per rate-limit window", "[Rr]equests per window"),
    "--platform": ("a platform", "Where to collect|Platform of|^Repeatable"),
    "--port": ("a port of this machine", "^Port"),
    "--posts": ("a file of posts", "[Pp]osts"),
    "--read": ("how accounts are read", "[Rr]ead"),
    "--refresh-rate": ("picks per batch", "picked per batch"),
    "--runs": ("how many crawls of each kind", "^Crawls (of each kind|per variant)"),
    "--safe-csv": ("no cell is a formula", "^CSV .*for spreadsheets"),
    "--seed": ("the seed of random draws", "[Rr]andom seed|draws|first crawl"),
    "--seed-least": ("the least value of nodes that can be seeds", "nodes (with a|of) value above"),
    "--seed-sets": ("how many sets of seeds are drawn", "sets of seeds|^Sets of seeds"),
    "--seed-size": ("how many seeds are drawn, for each set", "^Number of seeds|^Seeds in a set"),
    "--seeds": ("a file of seeds", "^File of"),
    "--steps": ("how many steps a crawl makes", "accounts|nodes|Nodes|Steps of a crawl"),
    "--switch-after": ("steps before a hybrid switches", "^Steps before a hybrid"),
    "--top": ("how many are listed, the first ones", "to list|are shown"),
    "--topic-share": ("the share of generated nodes with a value", "^Share of .*nodes with a value"),
    "--topic": ("a topic", "topic|happy"),
    "--ui": ("the pages of campaigns", "a browser"),
    "--users": ("the number of generated accounts", "Number of nodes|^Of a generated"),
    "--web": ("a known web graph", "web graph"),
    "--window": ("the length of a rate-limit window", "[Ll]ength of .*rate-limit window"),
    "--workers": ("the number of workers", "workers that share|worker processes"),
    "--world-seed": ("the seed of generated worlds", "^Of (the )?generated world"),
    "--yes": ("do not ask", "without asking"),
}
"""What each option that several commands explain differently means, and the words that all of them say."""
EITHER = ("--ui",)
"""Flags that take a value in other commands: a daemon's pages have an address that others know, a demo's do not."""


def collect(group, path=()):
    """Yield (command, option, type of its value, help) for all commands."""
    context = typer.Context(group)
    for name in group.commands:
        _, command, _ = group.resolve_command(context, [name])
        if hasattr(command, "commands"):
            yield from collect(command, (*path, name))
            continue
        for one in command.params:
            if one.param_type_name == "option":
                kind = "flag" if one.is_flag else "N" if one.metavar in ("N", "NUMBER") else one.metavar
                names = kind in ("flag", "N", "PATH")
                yield from ((" ".join((*path, name)), flag, kind if names else "TEXT", one.help or "")
                            for flag in one.opts if flag.startswith("--"))  # fmt: skip


USES = list(collect(typer.main.get_command(app)))


def find_shared(uses):
    """The options of which commands say different things."""
    said = {}
    for _, flag, _, text in uses:
        said.setdefault(flag, set()).add(text)
    return {flag for flag, texts in said.items() if len(texts) > 1}


def find_strangers(uses, meanings):
    """The uses of options that do not say what the option means, or take something else than the others."""
    types = {}
    for _, flag, kind, _ in uses:
        types.setdefault(flag, kind)
    return [
        (command, flag, text)
        for command, flag, kind, text in uses
        if (kind != types[flag] and flag not in EITHER) or (flag in meanings and not re.search(meanings[flag][1], text))
    ]


def test_each_option_that_several_commands_explain_has_one_meaning_that_is_written_down():
    assert find_shared(USES) == set(MEANINGS)
    assert len({meaning for meaning, _ in MEANINGS.values()}) == len(MEANINGS), "and no meaning has two names"


def test_all_commands_say_the_same_of_an_option_and_take_the_same():
    assert not find_strangers(USES, MEANINGS)


@pytest.mark.parametrize(
    "use",
    [("mock", "--limit", "N", "Requests per window."), ("lab", "--seeds", "N", "File of crawls."),
     ("import", "--campaign", "TEXT", "Campaign file.")],
)  # fmt: skip
def test_a_second_meaning_is_found(use):
    assert find_strangers([*USES, use], MEANINGS) == [(use[0], use[1], use[3])]


def test_old_names_are_no_options_of_their_commands_and_lead_to_some():
    for command, names in RENAMED.items():
        there = {flag for path, flag, _, _ in USES if path == command or path.startswith(f"{command} ".lstrip())}
        assert there
        assert not there & names.keys() or not command
        assert set(names.values()) <= there
