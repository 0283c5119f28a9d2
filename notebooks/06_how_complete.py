# %% [markdown]
# # How complete is my collection?
#
# **Goal:** you estimate how large a topic is, what share of it you have collected, and where the gaps are, each with an interval.
#
# A crawl knows what it has. It does not know what it lacks. A **sample** of the topic tells: if the collection holds 42 % of the
# accounts of a random sample, it holds about 42 % of the topic. `socialcrawl audit` does this calculation (Bar-Yossef, Kanungo and
# Krauthgamer).
#
# The posts are generated, so you can check each estimate against the truth. Nothing uses the network. The notebook takes about a
# minute.

# %%
import json

import matplotlib.pyplot as plt
import networkx as nx
import polars as pl

import socialcrawl as sc
from course import BLUE, GREY, ORANGE, folder, make_posts, show, socialcrawl, start_mock

posts = make_posts(folder / "posts.parquet", users=2_000)
address = start_mock(posts, "--window", "1s", "--per-window", 100_000)

# %% [markdown]
# ## 1. A collection, and a sample of the same topic
#
# The collection is an ordinary campaign. The sample is a campaign with `kind = "sample"`: eight **random walkers** step from account to
# account along mentions, in a way that visits each account on topic equally often in the long run. Both use the same database.

# %%
COMMON = f"""
database = "topic.db"
[topic]
keywords = ["telescope"]
[seeds]
most = 10
[source]
base_url = "{address}"
"""
(folder / "mine.toml").write_text(f'name = "mine"{COMMON}[crawl]\nsteps = 150\n')
(folder / "sample.toml").write_text(
    f'name = "topic-sample"\nkind = "sample"{COMMON}[sample]\nwalkers = 8\nburn_in = 10\n[crawl]\nsteps = 400\nrefresh_rate = 8\n'
)
socialcrawl("run", "mine.toml", "--yes", quiet=True)
socialcrawl("run", "sample.toml", "--yes", quiet=True)
data = sc.open(folder / "topic.db")
data.list_campaigns().to_polars().select("campaign", "accounts_read", "posts_on_topic", "requests")

# %% [markdown]
# ## 2. The audit
#
# An audit sends no request. Its first lines say whether there are enough data for an estimate.

# %%
audit = json.loads(socialcrawl("audit", "sample.toml", "--of", "mine", "--json", quiet=True))
print(f"enough data: {audit['verdict']['enough']}")
print(f"{audit['draws']} draws at {audit['accounts']} accounts on topic, worth {audit['effective']:.0f} independent draws")

# %% [markdown]
# Walkers move from neighbour to neighbour, so their draws are not independent. The audit accounts for that: 775 draws tell as much as
# about 40 accounts drawn by lot. That is why the intervals below are wide.
#
# ## 3. Check it against the truth
#
# You can do this only in a rehearsal: count in the file with all posts.

# %%
truth_posts = pl.read_parquet(posts, columns=["author", "text"])
matches = truth_posts.filter(pl.col("text").str.contains(r"(?i)\btelescope\b"))
topic = set(matches["author"].str.to_lowercase())
held = {name.lower() for name in data.accounts(campaign="mine").to_polars()["account"]}
linked = {name.lower() for name in data.network(campaign="mine").to_pandas()["target"]}
status = {
    name: "held" if name in held else "linked to" if name in linked else "out of sight" for name in sorted(topic)
}
truth = {kind: list(status.values()).count(kind) / len(topic) for kind in ("held", "linked to", "out of sight")}
found = audit["datasets"][0]["found"]
estimates = dict(zip(truth, (found["share"], found["reach"], found["beyond"])))
size = found["size"]
print(f"accounts on topic: estimated {size['value']:.0f} ({size['low']:.0f} to {size['high']:.0f}); in the file {len(topic)}")

# %%
figure, axes = plt.subplots(figsize=(9, 2.8))
for row, (kind, estimate) in enumerate(estimates.items()):
    axes.plot([100 * estimate["low"], 100 * estimate["high"]], [row, row], color=BLUE, linewidth=3)
    axes.plot(100 * estimate["value"], row, "o", color=BLUE, markersize=9, label="estimate and 95 % interval" if row == 0 else None)
    axes.plot(100 * truth[kind], row, "D", color=ORANGE, markersize=9, label="truth" if row == 0 else None)
axes.set_yticks(range(3), ["held", "not held, but linked to\nfrom what is held", "out of sight"])
axes.set_ylim(2.5, -0.5)
axes.set_xlabel("share of the accounts on topic (%)")
axes.set_xlim(0, 100)
axes.legend(frameon=False, loc="lower right")
inside = sum(one["low"] <= truth[kind] <= one["high"] for kind, one in estimates.items())
show(
    figure,
    alt="Three intervals with the truth marked: " + "; ".join(
        f"{kind} {100 * one['value']:.0f} % ({100 * one['low']:.0f} to {100 * one['high']:.0f}), truth {100 * truth[kind]:.0f} %"
        for kind, one in estimates.items()
    ) + ".",
    caption=f"**Figure 1: what the collection holds of the topic.** Dots and lines are estimates with 95 % intervals, diamonds the truth. "
    f"{inside} of the 3 intervals contain it. A 95 % interval should in 95 of 100 audits.",
)

# %% [markdown]
# ## 4. Where are the gaps?
#
# The audit groups the sample's accounts into communities that mention each other. For each it says how much of the topic it is, and
# how much of the topic is missing there.

# %%
gaps = found["gaps"]
figure, axes = plt.subplots(figsize=(9, 3))
for row, gap in enumerate(gaps):
    lacking, whole = gap["lacking"]["value"], gap["topic"]["value"]
    axes.barh(row, 100 * (whole - lacking), color=BLUE, label="held" if row == 0 else None)
    axes.barh(row, 100 * lacking, left=100 * (whole - lacking), color=GREY, hatch="//", edgecolor="white",
              label="not held" if row == 0 else None)  # fmt: skip
    axes.plot([100 * gap["topic"]["low"], 100 * gap["topic"]["high"]], [row + 0.3] * 2, color="black", linewidth=1,
              label="95 % interval of the community's size" if row == 0 else None)  # fmt: skip
axes.set_yticks(range(len(gaps)), [gap["group"] for gap in gaps])
axes.invert_yaxis()
axes.set_xlabel("share of the accounts on topic (%)")
axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3)
largest = max(gaps, key=lambda gap: gap["lacking"]["value"])
show(
    figure,
    alt="Stacked bars of held and missing shares for " + ", ".join(gap["group"] for gap in gaps) + ".",
    caption=f"**Figure 2: gaps by community.** The largest gap is {largest['group']}: {100 * largest['lacking']['value']:.0f} % of the topic "
    f"({100 * largest['lacking']['low']:.0f} to {100 * largest['lacking']['high']:.0f}) is missing there. The intervals of the communities "
    "are wide; small communities say hardly anything.",
)

# %% [markdown]
# ## 5. A look at the whole topic
#
# Again from the truth: the accounts on topic and who mentions whom.

# %%
everything = pl.read_parquet(posts, columns=["author", "mentions"]).explode("mentions").drop_nulls()
pairs = everything.select(pl.col("author").str.to_lowercase(), "mentions").unique().sort("author", "mentions")
network = nx.DiGraph()
network.add_nodes_from(status)
network.add_edges_from((a, b) for a, b in pairs.iter_rows() if a in topic and b in topic and a != b)
network.remove_nodes_from([name for name in status if network.degree(name) == 0])
places = nx.spring_layout(network.to_undirected(), seed=3, k=0.25)

figure, axes = plt.subplots(figsize=(9, 6.5))
nx.draw_networkx_edges(network, places, ax=axes, edge_color="#999999", alpha=0.25, width=0.6, arrows=False)
for kind, colour, shape in (("held", BLUE, "o"), ("linked to", ORANGE, "s"), ("out of sight", GREY, "^")):
    some = [name for name in network if status[name] == kind]
    nx.draw_networkx_nodes(network, places, nodelist=some, node_color=colour, node_shape=shape, node_size=60, edgecolors="black",
                           linewidths=0.5, label=f"{kind} ({len(some)})", ax=axes)  # fmt: skip
axes.legend(frameon=False)
axes.axis("off")
show(
    figure,
    alt=f"Network of {len(network)} accounts on topic, marked as held, linked to from what is held, and out of sight.",
    caption="**Figure 3: the topic and what a crawl holds of it.** Circles are held. Squares are next in reach: more steps would find them. "
    "Triangles are not mentioned by anyone who was read; other seeds may reach them.",
)

# %% [markdown]
# ## 6. Would more budget pay?

# %%
outlook = audit["datasets"][0]["outlook"]
print(outlook["why"])
print(f"about {outlook['reach']['value']:.0f} accounts on topic are one step away "
      f"({outlook['reach']['low']:.0f} to {outlook['reach']['high']:.0f})")  # fmt: skip

# %% [markdown]
# ## With your own campaign
#
# 1. Run your collection first. Then write a sample of the same topic: `socialcrawl init sample.toml --kind sample --keyword telescope`.
# 2. `socialcrawl run sample.toml`, then `socialcrawl audit sample.toml`. If it says "not enough data", raise `steps` and run it again: you
#    may look as often as you like.
# 3. `--held FILE` audits a dataset from elsewhere: ids, usernames or posts.
#
# The figures are about accounts that walks can reach along mentions. Accounts that nobody mentions are not in them.

# %%
data.close()
