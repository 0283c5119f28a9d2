# %% [markdown]
# # Every post about a topic
#
# **Goal:** you capture all posts about a topic from two weeks, see how much of the time is complete when the money runs out, and compare
# the estimate of the rest, and what a quote said, with what was there.
#
# A **capture** reads posts, not accounts: the search of the platform returns those that match, and the time is read in **slices**. Here
# a mock of X serves invented posts, without the network. It charges nothing, but counts and prices everything as X does. The notebook
# takes about a minute.

# %%
import json

import matplotlib.pyplot as plt
import pandas as pd

import socialcrawl as sc
from course import BLUE, GREY, ORANGE, folder, make_posts, show, socialcrawl, start_mock

address = start_mock(make_posts(folder / "posts.parquet"), "--window", "1s", "--per-window", 1_000)


def write_campaign(max_money):
    """Write the campaign file with this budget in dollars."""
    (folder / "sky.toml").write_text(f"""
name = "sky"
kind = "capture"
database = "sky.db"
[topic]
keywords = ["telescope"]
[capture]
from = 2025-12-15
until = 2025-12-29
order = "even"
parts = 56
[budget]
max_money = {max_money}
[limits]
k = 1000
d = 1
[source]
base_url = "{address}"
""")


def report():
    """Return what the report says, as a dictionary."""
    return json.loads(socialcrawl("report", "sky.db", "--json", quiet=True))


write_campaign(1.00)

# %% [markdown]
# `order = "even"` cuts the time into 56 parts of six hours and reads them in random order. So the parts that were read are a random
# sample of all.
#
# ## 1. What does the quote say?
#
# With `--counts`, X counts the posts before you buy them ($0.010 per query and 31 days).

# %%
quote = json.loads(socialcrawl("quote", "sky.toml", "--counts", "--json", quiet=True))
counted = quote["means"]["matches"]["value"]
print(f"{counted:.0f} posts match, which would cost {0.005 * counted:.2f} dollars; this budget buys {quote['probably']['posts']:.0f} of them")

# %% [markdown]
# ## 2. Run it until the money is spent

# %%
socialcrawl("run", "sky.toml", "--yes", quiet=True)
first = report()
part = first["captured"]
print(f"complete: {100 * part['share']:.0f} % of the time, {part['posts']} posts for {first['dollars']:.2f} dollars")
print("estimate of all: {value:.0f} posts ({low:.0f} to {high:.0f}, 95 % interval)".format(**part["total"]))

# %% [markdown]
# The estimate knows nothing of the quote: it follows from the posts in the parts that were read. On platforms that count nothing, it is
# all you have.
#
# ## 3. Which days are complete?
#
# The view `captured_slice` has a row for each slice of time. What is complete has every post that the search returns.

# %%
data = sc.open(folder / "sky.db")
slices = data.sql("select begins_at, ends_at, posts, state from captured_slice where state = 'complete'").to_pandas()
begins, ends = (pd.to_datetime(slices[name], utc=True) for name in ("begins_at", "ends_at"))
days = pd.date_range("2025-12-15", "2025-12-28", tz="UTC")
hours = (ends - begins).dt.total_seconds().div(3_600).groupby(begins.dt.floor("D")).sum().reindex(days, fill_value=0.0)
pd.DataFrame({"hours complete": hours.round(0).astype(int).to_numpy()}, index=days.date)

# %% [markdown]
# A day with few hours has few posts, because it was not read. Compare only days, or parts of days, that are complete.
#
# ## 4. Read the rest
#
# With a higher budget, the same command continues where it stopped.


# %%
def count_days():
    """Return the matching posts per day."""
    posts = data.posts(on_topic=True).to_pandas()
    return posts.groupby(posts["created_at"].dt.floor("D")).size().reindex(days, fill_value=0)


before = count_days()
write_campaign(3.00)
socialcrawl("run", "sky.toml", "--yes", quiet=True)
after, whole = count_days(), report()
print(f"complete: {100 * whole['captured']['share']:.0f} % of the time, {after.sum()} posts for {whole['dollars']:.2f} dollars")

# %%
figure, axes = plt.subplots(figsize=(9, 3.6))
axes.bar(days, after, color=GREY, label="all posts")
axes.bar(days, before, color=BLUE, label="posts that the first dollar bought")
axes.set_xlabel("day (UTC)")
axes.set_ylabel("matching posts per day")
axes.set_ylim(0, 1.3 * after.max())
axes.legend(loc="upper left", ncols=2, frameon=False)
figure.autofmt_xdate()
show(
    figure,
    alt=f"Bar chart of {len(days)} days: {before.sum()} posts after the first run, {after.sum()} after the second one.",
    caption=f"**Figure 1: posts per day.** Where blue is missing, the first run did not read the day, or a part of it. After the second "
    f"run, all {after.sum()} posts are there, up to {after.max()} on one day.",
)

# %% [markdown]
# ## 5. How good were quote and estimate?

# %%
labels = ["quote with counts", f"estimate after {100 * part['share']:.0f} %", "posts stored"]
values = [counted, part["total"]["value"], float(after.sum())]
figure, axes = plt.subplots(figsize=(9, 2.6))
axes.barh(labels, values, color=[GREY, ORANGE, BLUE])
axes.errorbar(
    values[1], 1, xerr=[[values[1] - part["total"]["low"]], [part["total"]["high"] - values[1]]], color="black", capsize=5
)
axes.set_xlabel("posts from 15 to 28 December")
axes.invert_yaxis()
contains = "contains" if part["total"]["low"] <= values[2] <= part["total"]["high"] else "does not contain"
show(
    figure,
    alt=f"Three bars: the quote says {values[0]:.0f} posts, the estimate {values[1]:.0f} with an interval, stored are {values[2]:.0f}.",
    caption=f"**Figure 2: what was expected, and what was there.** X counted {values[0]:.0f} posts, and {values[2]:.0f} are stored. The "
    f"95 % interval of the estimate {contains} this number.",
)

# %% [markdown]
# On X itself, the count is often higher than what you get, because it includes posts of deleted and protected accounts.
#
# ## 6. Who posts, and with which hashtags?
#
# On X, a capture knows authors by their ids, and by names where a post mentions them. `authors = true` under `[capture]` buys profiles,
# for $0.010 each.

# %%
data.sql("select author, count(*) as posts, sum(occurrences) as occurrences from topic_match group by author "
         "order by posts desc, author limit 8").to_pandas()  # fmt: skip

# %%
texts = data.posts(on_topic=True).to_pandas()["text"]
tags = texts.str.findall(r"#\w+").explode().str.lower().value_counts().rename_axis("hashtag")
tags.sort_index().sort_values(ascending=False, kind="stable").head(8).to_frame("posts")

# %% [markdown]
# ## 7. What is missing?
#
# Spans that could not be read are in the view `coverage_gap`, with the reason. Here there are none. What the search does not return is
# in no list: deleted posts, posts of protected accounts and, for keywords on X, reposts.

# %%
gaps = data.sql("select gap, why, size from coverage_gap").to_pandas()
print(f"gaps: {len(gaps)}; spans not read: {sum(len(query['left']) + len(query['failed']) for query in whole['captured']['queries'])}")

# %% [markdown]
# ## What to take with you
#
# - Ask for a quote with counts first, and set a budget: a capture that ends early is still of use.
# - Use only spans that are complete, or the estimate with its interval.
# - For posts that appear from now on, set `ongoing = true` in place of `until`.

# %%
data.close()
