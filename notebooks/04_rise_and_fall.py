# %% [markdown]
# # Who rises and who falls?
#
# **Goal:** you track a topic over weeks, see whose mentions grow or shrink, and tell real changes from chance.
#
# A campaign with `kind = "track"` divides its requests between new accounts and return visits, which fetch only what is new (Kumar, Lang,
# Marlow and Tomkins). In reality it runs for weeks. Here a mock of X shows the posts of six weeks with a clock that you set. Nothing uses
# the network. The notebook takes less than a minute.

# %%
import datetime as dt
import socket

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from scipy.stats import binom

import socialcrawl as sc
from course import BLUE, GREY, ORANGE, folder, make_posts, run_mock, show, socialcrawl

# %% [markdown]
# ## 1. A world in which something happens
#
# In generated posts nothing changes from week to week. So plant a change: the most mentioned account of the topic falls silent on
# 11 December. From that day on, most people who would have mentioned it mention a newcomer instead.

# %%
posts = pl.read_parquet(make_posts(folder / "quiet.parquet"))
change = dt.datetime(2025, 12, 11, tzinfo=dt.timezone.utc)
topic = posts.filter(pl.col("text").str.contains("telescope"))
ranking = topic.explode("mentions").drop_nulls("mentions").group_by("mentions").len().sort("len", "mentions", descending=True)
STAR, NEWCOMER = ranking["mentions"][0], ranking["mentions"][-1]

draw = np.random.default_rng(5)
moved = (
    (pl.col("created_at") >= change.timestamp())
    & pl.col("mentions").list.contains(STAR)
    & pl.Series("luck", draw.random(len(posts)) < 0.8)
)
posts.with_columns(
    text=pl.when(moved).then(pl.col("text").str.replace_all(f"(?i)@{STAR}\\b", f"@{NEWCOMER}")).otherwise("text"),
    mentions=pl.when(moved).then(
        pl.col("mentions").list.eval(pl.element().replace(STAR, NEWCOMER)).list.unique()
    ).otherwise("mentions"),
    reply_to=pl.col("reply_to").replace(STAR, None),
).filter((pl.col("author").str.to_lowercase() != STAR) | (pl.col("created_at") < change.timestamp())).write_parquet(
    folder / "posts.parquet"
)  # fmt: skip
print(f"the star is {STAR}, the newcomer {NEWCOMER}")

# %% [markdown]
# ## 2. Track it
#
# `target = "indegree"` looks for accounts that many others mention. `p = 0.5` spends half of the steps on return visits. The campaign
# runs three times: on 6, 20 and 31 December. With a real platform, `socialcrawl daemon` runs it all the time.

# %%
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]  # the mock starts three times at the same address


def run_until(day, steps):
    """Run the campaign until it has made `steps` steps, while the clock of the mock stands at `day`."""
    (folder / "track.toml").write_text(f"""
name = "rising"
database = "rising.db"
kind = "track"
[topic]
keywords = ["telescope"]
[seeds]
most = 20
[track]
target = "indegree"
p = 0.5
rest = "0.000001s"
window = "all"
[crawl]
steps = {steps}
[source]
base_url = "http://127.0.0.1:{port}"
""")
    with run_mock(folder / "posts.parquet", "--port", port, "--window", "1s", "--per-window", 5_000, "--from", day, "--speed", 0):
        socialcrawl("run", "track.toml", "--yes", quiet=True)


run_until("2025-12-06", 200)
run_until("2025-12-20", 400)
run_until("2025-12-31", 600)
data = sc.open(folder / "rising.db")
data.list_campaigns().to_polars().select("campaign", "accounts_read", "posts_on_topic", "requests")

# %%
yields = pl.DataFrame(data.report().to_dict()["tracked"]["yields"])
yields.with_columns(posts_per_request=(pl.col("posts") / pl.col("requests")).round(1))

# %% [markdown]
# `expand` are first visits, `recrawl` are return visits. A return visit brings what was posted since the last one; here most come soon
# after each other, as the mock's clock stands still.
#
# ## 3. Mentions per week
#
# Count by the time of the post, not of the visit. One mention per author and day is enough: somebody who repeats a name all day is one
# voice.

# %%
mentions = data.sql("""
    select distinct substr(p.created_at, 1, 10) as day, p.author, lower(coalesce(a.username, a.platform_id)) as mentioned
    from post p join mention m on m.post = p.id join account a on a.node = m.node
    where p.created_at >= '2025-11-20' and p.created_at < '2025-12-31'
""").to_polars().with_columns(pl.col("day").str.to_date())
weekly = mentions.with_columns(week=pl.col("day").dt.truncate("1w")).group_by("week", "mentioned").len().sort("week")

figure, axes = plt.subplots(figsize=(9, 3.8))
steady = mentions.group_by("mentioned").len().filter(~pl.col("mentioned").is_in([STAR, NEWCOMER])).sort("len", "mentioned")["mentioned"][-3:]
for name, colour, style in [(one, GREY, "-") for one in steady] + [(STAR, BLUE, "-"), (NEWCOMER, ORANGE, "--")]:
    line = weekly.filter(pl.col("mentioned") == name)
    axes.plot(line["week"], line["len"], color=colour, linestyle=style, marker="o", label=name)
axes.axvline(change.date(), color="black", linewidth=0.8, linestyle=":")
axes.set_xlabel("week that begins on (UTC)")
axes.set_ylabel("authors and days\nwith a mention")
axes.set_ylim(0)
axes.legend(frameon=False, ncols=2)
figure.autofmt_xdate()
show(
    figure,
    alt=f"Lines of mentions per week: {STAR} falls after 11 December, {NEWCOMER} rises, three others stay about the same.",
    caption=f"**Figure 1: mentions per week.** {STAR} (solid) loses its mentions after 11 December (dotted) and {NEWCOMER} (dashed) gets them. The "
    "grey lines, three other accounts that are mentioned often, go up and down too: that is chance. The first and the last week are "
    "not complete.",
)

# %% [markdown]
# ## 4. Rise, fall, or chance?
#
# Compare the time before and after a day. If nothing had changed, each mention of an account would fall into the second part with the
# same probability: the share of all mentions that do. So the number of late mentions follows a binomial distribution.
#
# You look at many accounts at once. At a level of 5 %, one in twenty would stand out by chance alone. So divide the level by the number of
# accounts (Bonferroni).

# %%
counts = mentions.group_by("mentioned").agg(
    before=(pl.col("day") < change.date()).sum(), after=(pl.col("day") >= change.date()).sum()
).filter(pl.col("before") + pl.col("after") >= 10).sort("mentioned")  # fmt: skip
total = counts["before"] + counts["after"]
share = counts["after"].sum() / total.sum()
p = 2 * np.minimum(binom.cdf(counts["after"], total, share), binom.sf(counts["after"] - 1, total, share))
counts = counts.with_columns(p=pl.Series(np.minimum(p, 1)))
naive, strict = counts.filter(pl.col("p") < 0.05), counts.filter(pl.col("p") < 0.05 / len(counts))
print(f"{len(counts)} accounts; p < 0.05: {len(naive)}, of which {0.05 * len(counts):.0f} are expected by chance; after Bonferroni: {len(strict)}")
strict.with_columns(pl.col("p").map_elements("{:.0e}".format, pl.String)).sort("after")

# %%
figure, axes = plt.subplots(figsize=(6.5, 6))
rest = counts.filter(~pl.col("mentioned").is_in(strict["mentioned"].implode()))
axes.scatter(rest["before"], rest["after"], s=14, color=GREY, label="no more than chance")
axes.scatter(strict["before"], strict["after"], s=60, color=ORANGE, marker="s", edgecolor="black", label="more than chance")
for name, x, y in strict.select("mentioned", "before", "after").iter_rows():
    axes.annotate(name, (x, y), xytext=(7, 5), textcoords="offset points")
size = np.arange(10, total.max() + 1)
low, high = binom.ppf([[0.025 / len(counts)], [1 - 0.025 / len(counts)]], size, share)
axes.plot(size - low, low, color=BLUE, linewidth=1, linestyle="--")
axes.plot(size - high, high, color=BLUE, linewidth=1, linestyle="--", label="limits of chance")
axes.set_xlabel("before 11 December")
axes.set_ylabel("from 11 December on")
axes.legend(frameon=False)
show(
    figure,
    alt=f"Scatter of mentions before and after; {len(strict)} accounts lie outside of the limits of chance.",
    caption=f"**Figure 2: mentions before and after.** Each mark is an account. Between the dashed lines, differences are no larger than chance "
    f"makes them among {len(counts)} accounts. Outside are: {', '.join(strict.sort('mentioned')['mentioned'])}.",
)

# %% [markdown]
# ## With your own campaign
#
# - `socialcrawl init who-counts.toml --kind track --keyword telescope` writes a campaign file. Leave `rest` at a day, so that return
#   visits bring something, and `window` at 7 days.
# - `socialcrawl report` lists accounts that rose or fell further than chance since the last report, by their place among all.
# - A rise in *your collection* can be a rise of your attention: accounts that were found late bring mentions late. Count by the time of
#   the post, and compare accounts that were read in both periods if it matters.

# %%
data.close()
