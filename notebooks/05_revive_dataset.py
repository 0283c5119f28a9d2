# %% [markdown]
# # Revive an old dataset
#
# **Goal:** you find out which accounts of an old dataset still exist, in an order that finds most of them early, and you stop when you
# have enough.
#
# A dataset of who mentions whom ages: accounts are deleted and suspended. Testing all of them takes time and money. But people leave together:
# an account whose neighbours are gone is probably gone too. **LiveRank** (Huynh, Mathieu and Viennot) learns that from the first tests
# and tests the promising accounts first.
#
# Here the old dataset, and what has become of it, are generated, so that you can check every estimate against the truth. Nothing
# uses the network. The notebook takes about a minute.

# %%
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import socialcrawl as sc
from course import BLUE, GREEN, GREY, ORANGE, folder, make_posts, show, socialcrawl, start_mock

# %% [markdown]
# ## 1. The old dataset
#
# You have a table of links: who mentioned whom, years ago.

# %%
old = pl.read_parquet(make_posts(folder / "old.parquet", users=6_000))
edges = (
    old.select(source=pl.col("author").str.to_lowercase(), target="mentions")
    .explode("target").drop_nulls().unique().sort("source", "target")
)  # fmt: skip
edges.write_csv(folder / "old.csv")
edges.head(4)

# %%
names = pl.concat([edges["source"], edges["target"]]).unique().sort()
print(f"{len(edges):,} links among {len(names):,} accounts")

# %% [markdown]
# ## 2. What has happened since
#
# You would not know this. Groups lost interest together: each account has a mood, which its friends (those it mentions, and those
# who mention it) share more or less. The gloomiest two thirds have left.

# %%
draw = np.random.default_rng(7)
place = dict(zip(names, range(len(names))))
a = np.array([place[name] for name in edges["source"]])
b = np.array([place[name] for name in edges["target"]])


def average_friends(values):
    """Return for each account the mean of the values of its friends."""
    total = np.bincount(a, values[b], len(names)) + np.bincount(b, values[a], len(names))
    return total / (np.bincount(a, minlength=len(names)) + np.bincount(b, minlength=len(names)))


mood = draw.standard_normal(len(names))
for _ in range(6):
    mood = average_friends(mood)
    mood /= mood.std()
mood += 0.5 * draw.standard_normal(len(names))
gone = mood < np.quantile(mood, 0.66)
staying = names.filter(pl.Series(~gone)).implode()

today = old.filter(
    pl.col("author").str.to_lowercase().is_in(staying), pl.col("mentions").list.eval(pl.element().is_in(staying)).list.all()
)
today.write_parquet(folder / "today.parquet")
there = set(today["author"].str.to_lowercase()) | set(today["mentions"].explode().drop_nulls())
print(f"{len(there & set(names)):,} of {len(names):,} accounts still exist")

# %% [markdown]
# ## 3. Describe the campaign
#
# A campaign with `kind = "refresh"` tests accounts with the cheapest request of the platform. On X, one request tests 100 accounts.
#
# - `training = "random"`, `z = 1000`: first test 1,000 random accounts. They tell how many of all are active, and the order learns
#   from them.
# - `rank = "pa+-"`: then test the accounts around those found active first, and those around missing ones last.
# - `fraction = 0.9`: stop when at least nine tenths of the active accounts are found, at 95 % confidence.

# %%
address = start_mock(folder / "today.parquet", "--window", "1s", "--per-window", "10000")
(folder / "revive.toml").write_text(f"""
name = "revive"
database = "revive.db"
kind = "refresh"
[refresh]
active = "exists"
training = "random"
z = 1000
rank = "pa+-"
fraction = 0.9
[budget]
max_money = 50.0
[source]
base_url = "{address}"
""")
socialcrawl("import", "old.csv", "--as", "dataset", "--db", "revive.toml", quiet=True)
socialcrawl("run", "revive.toml", "--yes", quiet=True)
data = sc.open(folder / "revive.db")

# %% [markdown]
# ## 4. What was found?
#
# One row a test, in the order of the tests. `active` is 1 if the account still exists.

# %%
tests = data.sql("""
    select account.username, account.platform_id, outcome.value as active, outcome.missing
    from pick
    join outcome using (campaign, n)
    join account on account.node = pick.node
    where pick.act = 'probe'
    order by pick.n
""").to_polars()
tests.group_by("active", "missing").agg(pl.len().alias("accounts")).sort("accounts", descending=True)

# %%
active_in_all = len(there & set(names))
found = np.cumsum(tests["active"].to_numpy())
tested = np.arange(1, len(found) + 1)
rate = active_in_all / len(names)

figure, axes = plt.subplots(figsize=(9, 4.4))
axes.plot(tested, found, color=BLUE, linewidth=2, label="this campaign (LiveRank)")
axes.plot([0, len(names)], [0, active_in_all], color=GREY, linestyle="--", label="random order (expected)")
axes.plot([0, active_in_all, len(names)], [0, active_in_all, active_in_all], color=GREEN, linestyle=":", label="if the truth were known")
axes.axvline(1000, color=ORANGE, linestyle="-.", linewidth=1)
axes.annotate("the order begins", (1000, 60), xytext=(8, 0), textcoords="offset points", color="black")
axes.plot(len(found), found[-1], "o", color=BLUE)
axes.set_xlabel("accounts tested")
axes.set_ylabel("active accounts found")
axes.set_xlim(0), axes.set_ylim(0)
axes.legend(frameon=False, loc="lower right")
share = found[-1] / active_in_all
show(
    figure,
    alt=f"The campaign's curve rises above the random line and stops at {len(found):,} tests with {found[-1]:,.0f} active accounts.",
    caption=f"**Figure 1: active accounts found.** The campaign stopped after {len(found):,} of {len(names):,} tests "
    f"({100 * len(found) / len(names):.0f} %) and had found {100 * share:.1f} % of the active accounts. In random order, as many "
    f"tests would have found {100 * len(found) / len(names):.0f} %. At half of the tests it had "
    f"{100 * found[len(names) // 2] / active_in_all:.0f} %.",
)

# %% [markdown]
# ## 5. How many are active in all?
#
# In your own campaign you do not know the truth. The random tests estimate it, with an interval, which the report shows:

# %%
refreshed = data.report().to_dict()["refreshed"]
known = refreshed["known"]
print(f"estimated: about {known['value']:,.0f} active accounts in all ({known['low']:,} to {known['high']:,}, 95 % interval)")
print(f"the truth: {active_in_all:,}")

# %% [markdown]
# `stop = "bound"` (the default) stops when even the upper end of the interval is 90 % found. `stop = "estimate"` stops earlier, but half
# of such campaigns find less than 90 %.
#
# What did each request find? On X, a request tests 100 accounts, and each account that it returns costs one cent.

# %%
slices = pl.DataFrame(refreshed["slices"])
per_request = 100 * slices["active"] / (slices["last"] - slices["first"] + 1)
dollars = data.list_campaigns().to_polars()["dollars"][0]

figure, axes = plt.subplots(figsize=(9, 3.4))
axes.bar(slices["first"], per_request, width=0.9 * slices["last"][0], align="edge", color=BLUE)
axes.axhline(100 * rate, color=ORANGE, linestyle="--", label="random order (expected)")
axes.set_xlabel("accounts tested")
axes.set_ylabel("active accounts\nper request of 100 tests")
axes.legend(frameon=False)
show(
    figure,
    alt=f"Bars of active accounts per request; the highest {per_request.max():.0f}, the last {per_request[-1]:.0f}.",
    caption=f"**Figure 2: what a request finds.** While the order is random, a request finds about {100 * rate:.0f} active accounts; "
    f"afterwards up to {per_request.max():.0f}, and {per_request[-1]:.0f} at the end. The whole campaign cost {dollars:.2f} dollars at X's "
    "prices. Where a request tests one account, as on Mastodon, the bars are the time that the campaign takes.",
)

# %% [markdown]
# ## 6. Why does the order work?
#
# Compare each account with its neighbours in the old dataset.

# %%
exists = np.array([name in there for name in names])
bins = pl.DataFrame({"friends": average_friends(exists), "exists": exists}).with_columns(
    part=(pl.col("friends") * 5).floor().clip(0, 4) / 5 + 0.1
).group_by("part").agg(pl.col("exists").mean(), pl.len().alias("accounts")).sort("part")  # fmt: skip

figure, axes = plt.subplots(figsize=(9, 3.6))
axes.bar(100 * bins["part"], 100 * bins["exists"], width=17, color=BLUE)
for part, share_there, count in bins.iter_rows():
    axes.text(100 * part, 100 * share_there + 2, f"{count:,} accounts", ha="center", fontsize=9)
axes.axhline(100 * rate, color=ORANGE, linestyle="--", label="all accounts")
axes.set_xlabel("neighbours that still exist (%)")
axes.set_ylabel("accounts that still exist (%)")
axes.set_ylim(0, 110)
axes.legend(frameon=False, loc="upper left")
low, high = bins["exists"][0], bins["exists"][-1]
show(
    figure,
    alt=f"Five bars that rise from {100 * low:.0f} % to {100 * high:.0f} % of accounts that exist.",
    caption=f"**Figure 3: people leave together.** Of the accounts whose neighbours are mostly gone, {100 * low:.0f} % still exist; of "
    f"those whose neighbours mostly stayed, {100 * high:.0f} %. Each test therefore says something about the neighbours. Where "
    "accounts leave independently of each other, no order beats chance.",
)

# %% [markdown]
# ## 7. With your own dataset
#
# 1. `socialcrawl init revive.toml --kind refresh` writes a campaign file with every key explained.
# 2. `socialcrawl import old.csv --as dataset --db revive.toml` takes edge lists, ids, names, posts and earlier campaigns.
# 3. `socialcrawl quote revive.toml` says what testing all of them can cost.
# 4. `socialcrawl run revive.toml` tests until `fraction` is found or the budget is spent.
#
# `active = "180d"` counts accounts as active that posted in the last 180 days, instead of all that exist.

# %%
data.close()
