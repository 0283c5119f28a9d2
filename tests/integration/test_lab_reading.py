"""Ways of reading accounts compared for the money: what a budget would have found, and the command itself."""

import json
import re
from math import log

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import socialcrawl
from x_crawls import TOPIC, posts, posts_file

from socialcrawl.campaign.sections.access import READINGS
from socialcrawl.lab.experiments.reading.crawls import LATENCY, ReadingCrawl, crawl_posts
from socialcrawl.mock.topic_seeds import draw_topic_seeds
from socialcrawl.mock.world import build_world

BUDGET = 3.0


@pytest.mark.parametrize(("read", "pages"), [("timeline", 1), ("match", None)])
def test_a_campaign_of_the_laboratory_finds_what_the_demo_finds_with_its_seeds_and_budget(read, pages, tmp_path):
    seeds = draw_topic_seeds(build_world(posts()), TOPIC, 4, 7)
    found = crawl_posts(ReadingCrawl(posts_file(), TOPIC, seeds, read, pages, "nh-ne-sum", 7, BUDGET))
    row = {name: column.tolist()[0] for name, column in found.items()}
    same = ("--posts", posts_file(), "--keyword", TOPIC, "--seed-size", 4, "--seed", 7, "--estimator", "nh-ne-sum")
    ways = ("--read", read, "--pages-per-user", pages or 32, "--max-money", BUDGET, "--per-window", 10_000)
    made = socialcrawl("demo", *same, *ways, "--db", "a.db", "--json", folder=tmp_path)
    told = json.loads(made.stdout)
    assert row["relevance"] == pytest.approx(told["relevance"])
    assert row["relevance"] > 0
    assert row["accounts"] == told["steps"]
    assert row["bill"] == pytest.approx(told["bill"])
    assert row["bill"] <= row["dollars"] <= BUDGET
    assert row["hours"] * 3600 >= LATENCY * row["accounts"] / 17  # that one search can name


def compare(folder, *more):
    given = ("--posts", posts_file(), "--keyword", TOPIC, "--seed-size", 4, "--max-money", 2, "--max-money", 1, *more)
    return socialcrawl("lab", "reading", *given, "--jobs", 1, folder=folder)


def test_the_command_prints_the_means_of_all_ways_and_keeps_the_crawls(tmp_path):
    made = compare(tmp_path, "--seed-sets", 2)
    assert made.returncode == 0, made.stderr
    out = tmp_path / "reading"
    found = pq.read_table(out / "reading.parquet").to_pylist()
    means = pyarrow.csv.read_csv(out / "reading.csv").to_pylist()
    assert {(row["read"], row["budget"], row["seed"]) for row in found} == {
        (read, budget, seed) for read in READINGS for budget in (1.0, 2.0) for seed in (1, 2)
    }
    lines = made.stdout.splitlines()
    for mean in means:
        own = [row for row in found if (row["read"], row["budget"]) == (mean["read"], mean["budget"])]
        values = [row["relevance"] for row in own]
        assert mean["relevance"] == pytest.approx(np.mean(values))
        half = 12.7062 * np.std(values, ddof=1) / 2**0.5  # Student's t for two values
        assert mean["relevance_high"] - mean["relevance"] == pytest.approx(half, rel=1e-4)
        (line,) = [line for line in lines if line.split()[:1] == [mean["read"]]]
        assert f"{mean['relevance']:,.0f} ± {half:,.0f}" in line
    occurrences = {}
    for author, text in zip(posts().authors, posts().texts, strict=True):
        occurrences[author.lower()] = occurrences.get(author.lower(), 0) + len(
            re.findall(rf"\b{TOPIC}\b", text.lower())
        )
    everyone = sum(1 + log(many) for many in occurrences.values() if many)
    assert f"all accounts, seeds and reposts included, have {everyone:,.0f}" in lines[0]
    assert (out / "reading.png").stat().st_size > 10_000
    kept = {file: file.stat().st_mtime_ns for file in (out / "crawls").iterdir()}
    again = compare(tmp_path, "--seed-sets", 2)
    assert again.stdout == made.stdout
    assert {file: file.stat().st_mtime_ns for file in (out / "crawls").iterdir()} == kept


def test_one_budget_that_pays_for_nothing_is_a_row_of_noughts_and_a_picture(tmp_path):
    given = ("--posts", posts_file(), "--keyword", TOPIC, "--seed-size", 4, "--max-money", 0.001, "--seed-sets", 1)
    made = socialcrawl("lab", "reading", *given, "--jobs", 1, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert [line.split() for line in made.stdout.splitlines()[2:6]] == [
        ["timeline", "adaptive", "0"],
        ["match", "adaptive", "0"],
        ["search", "adaptive", "0"],
        ["auto", "adaptive", "0"],
    ]
    assert (tmp_path / "reading" / "reading.png").stat().st_size > 5_000


def test_searches_of_the_last_days_are_compared_with_timelines(tmp_path):
    made = compare(tmp_path, "--seed-sets", 1, "--last-days")
    assert made.returncode == 0, made.stderr
    rows = {line.split()[0]: float(line.split()[-1].replace(",", "")) for line in made.stdout.splitlines()[2:5]}
    assert rows.keys() == {"timeline", "search", "auto"}
    assert rows["auto"] >= 0.95 * max(rows.values()) > 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--read", "match", "--last-days"), "remove it, or --last-days"),
        (("--read", "macth"), "Did you mean 'match'"),
        (("--max-money", "0"), "dollars above 0"),
        (("--max-money", "nan"), "dollars above 0"),
        (("--keyword", "unheardof"), "No post uses the word 'unheardof'"),
        (("--seed-size", "3000"), "Too few accounts post about"),
        (("--estimator", "bfs", "--estimator", "nh-n"), "Did you mean 'nh-n-sum'"),
        (("--posts", "nothing.csv"), "There is no file nothing.csv"),
    ],
)
def test_a_mistake_is_named_before_anything_is_crawled(words, why, tmp_path):
    made = compare(tmp_path, *words)
    assert made.returncode == (1 if "--posts" in words else 2)
    assert why in made.stderr
    assert not (tmp_path / "reading" / "crawls").exists()
