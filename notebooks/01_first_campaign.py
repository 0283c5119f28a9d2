# %% [markdown]
# # Your first campaign
#
# **Goal:** you run a small campaign, read what it collected with pandas, and draw posts per day, the accounts it found and who mentions
# whom.
#
# The campaign runs against a **mock** of the X API on your own machine, so you need no token and no network. All people and posts are
# invented. The notebook takes less than a minute. At its end you find what to change for your own campaign.

# %%
import io
import math
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import pandas as pd
from IPython.display import Image, Markdown, display
from matplotlib.ticker import MaxNLocator

import socialcrawl as sc
from socialcrawl.lab.generators.generate import generate, write
from socialcrawl.testing.social_api import serve_posts

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#BBBBBB"  # people with any kind of colour vision can tell these apart
scratch = tempfile.TemporaryDirectory()
folder = Path(scratch.name)


def show(figure, alt, caption):
    """Show a picture with a text for people who cannot see it, and a caption that says what to see."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    display(Image(picture.getvalue(), format="png", alt=alt))
    display(Markdown(caption))


# %% [markdown]
# ## 1. Run the campaign
#
# A **campaign** collects posts about a **topic** (here the keyword "telescope"). It starts from **seeds**: ten accounts that use the
# keyword. Then it reads one account per **step**. After each step it estimates again which of the accounts that were mentioned so
# far is most relevant, and reads that one next.
#
# `serve_posts` is the mock. For a campaign on X itself, leave it and `base_url` out, and set a budget.

# %%
write(folder / "posts.parquet", generate(10_000, seed=1))  # the posts of 10,000 invented people
os.environ["X_BEARER_TOKEN"] = "any-token-will-do"  # for the mock; keep real tokens out of notebooks

with serve_posts(folder / "posts.parquet", folder, limit=2_000) as api:
    campaign = sc.Campaign(
        name="telescope",
        database=str(folder / "telescope.db"),
        topic={"keywords": ["telescope"]},
        seeds={"most": 10},
        crawl={"steps": 150},
        source={"platform": "x", "base_url": api.url},
    )
    ending = campaign.run(on_progress=lambda progress: None)  # without on_progress, a line shows the progress

print(f"{ending.state}: {ending.why}")
figures = ending.report.to_dict()
for name in ("requests", "accounts_read", "accounts_known", "posts", "dollars"):
    print(f"{name:14} {figures[name]}")

# %% [markdown]
# - `requests`: how many requests the campaign sent.
# - `accounts_read`: accounts whose posts it read: 10 seeds and 150 steps.
# - `accounts_known`: accounts it has seen, most of them only in mentions.
# - `posts`: posts in the database.
# - `dollars`: what these requests would have cost on X. The mock costs nothing.
#
# ## 2. Open the database
#
# Everything is in one SQLite file. `sc.open` opens it for reading, also while a campaign runs. It offers tables; each becomes a data
# frame with `.to_pandas()` or `.to_polars()`.

# %%
data = sc.open(campaign.database)  # or the name of a file: sc.open("astronomy.db")
posts = data.posts().to_pandas()
posts.loc[posts["occurrences"] > 0, ["author", "created_at", "text"]].tail(5)

# %% [markdown]
# `occurrences` counts how often the keyword occurs in a post. A post with at least one is **on topic**. A request reads a page of an
# account's posts, so other posts come along.
#
# ## 3. Posts per day

# %%
days = posts.groupby(posts["created_at"].dt.floor("D"))["occurrences"].agg(
    posts="size", on_topic=lambda counts: int((counts > 0).sum())
)
figure, axes = plt.subplots(figsize=(9, 3.6))
axes.bar(days.index, days["posts"] - days["on_topic"], bottom=days["on_topic"], color=GREY, label="other posts")
axes.bar(days.index, days["on_topic"], color=BLUE, label='posts with "telescope"')
axes.set_xlabel("day (UTC)")
axes.set_ylabel("posts per day")
axes.set_ylim(0, 1.25 * days["posts"].max())
axes.yaxis.set_major_locator(MaxNLocator(integer=True))
axes.legend(loc="upper right", ncols=2, frameon=False)
figure.autofmt_xdate()

share = 100 * days["on_topic"].sum() / days["posts"].sum()
show(
    figure,
    alt=f"Bar chart: {days['posts'].median():.0f} posts on a median day, {days['on_topic'].median():.0f} of them with the keyword.",
    caption=f"**Figure 1: posts per day.** The campaign holds {len(posts):,} posts from {len(days)} days. {share:.1f} % of them use the "
    "keyword (dark, at the bottom). The activity is even because the posts are generated: in your own data look for peaks.",
)

# %% [markdown]
# A campaign reads an account's newest posts first, and at most `pages_per_user` pages of them. Days far back can therefore look
# emptier than they were. To compare days, set `from` and `until` under `[topic]` and allow enough pages.
#
# ## 4. Who was found?
#
# The **relevance** of an account is 1 + ln(occurrences). It grows fast for the first uses of the keyword and slowly afterwards, so
# that one account that repeats it does not outweigh everybody else. `act` is `seed`, or `expand` for an account that the campaign
# **discovered**.

# %%
accounts = data.accounts().to_pandas()
discovered = accounts[accounts["act"] == "expand"]
print(f"{len(accounts)} accounts on topic: {len(accounts) - len(discovered)} seeds, {len(discovered)} discovered")
discovered[["place", "account", "relevance", "occurrences", "posts", "step"]].head(10).round({"relevance": 2})

# %%
top = accounts.head(25).iloc[::-1].reset_index(drop=True)  # the first place at the top of the picture
is_seed = top["act"] == "seed"
figure, axes = plt.subplots(figsize=(9, 7))
for chosen, colour, hatch, label in ((is_seed, BLUE, "", "seed"), (~is_seed, ORANGE, "//", "discovered")):
    axes.barh(top.index[chosen], top["relevance"][chosen], color=colour, hatch=hatch, edgecolor="white", label=label)
axes.set_yticks(top.index, top["account"])
axes.set_xlabel("relevance: 1 + ln(occurrences of the keyword)")
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)

best = discovered.iloc[0]
show(
    figure,
    alt=f"Bar chart of the {len(top)} most relevant accounts; {int((~is_seed).sum())} of them were discovered.",
    caption=f"**Figure 2: the {len(top)} most relevant accounts.** {int((~is_seed).sum())} of them were discovered (hatched). The best of "
    f"these, {best['account']}, uses the keyword {best['occurrences']} times and was read in step {best['step']}.",
)

# %% [markdown]
# ## 5. Did it choose well?
#
# `score_curve` has one row a step. Compare the first steps with the last ones.

# %%
curve = data.score_curve().to_pandas()
curve["part"] = pd.cut(curve["step"], [0, 50, 100, 150], labels=["steps 1 to 50", "steps 51 to 100", "steps 101 to 150"])
curve.groupby("part", observed=True)["value"].agg(
    accounts="size", on_topic=lambda values: int((values > 0).sum()), mean_relevance="mean"
).round(2)

# %% [markdown]
# Where the mean relevance falls, later steps brought less. Whether the campaign chose better than chance is another question: set
# `control = 0.1` under `[crawl]`, and a tenth of the steps reads drawn accounts for comparison. Notebooks 2 and 8 show such comparisons.
#
# ## 6. Who mentions whom?
#
# A **mention** leads from the author of a post to the account that it names. `data.network()` has all mentions that the campaign read;
# `on_topic=True` keeps those in posts on topic. The picture shows only the most relevant accounts: a network of all is hard to read.

# %%
network = data.network(on_topic=True).to_networkx()
names = list(accounts["account"].head(25))
inside = network.subgraph(names)
print(f"all mentions on topic: {network.number_of_edges():,} pairs; among the {len(names)} accounts: {inside.number_of_edges()}")

# %%
mentioned_by = dict(inside.in_degree())
relevance = dict(zip(accounts["account"], accounts["relevance"]))
seeds = set(accounts["account"][accounts["act"] == "seed"])
places = nx.circular_layout(sorted(inside, key=lambda name: (-mentioned_by[name], name)))

figure, axes = plt.subplots(figsize=(8.5, 8.5))
nx.draw_networkx_edges(inside, places, ax=axes, edge_color="#777777", alpha=0.45, width=0.8, arrowsize=9, node_size=500,
                       connectionstyle="arc3,rad=0.08")  # fmt: skip
for is_one, colour, shape, label in ((True, BLUE, "o", "seed"), (False, ORANGE, "s", "discovered")):
    some = [name for name in sorted(inside) if (name in seeds) == is_one]
    nx.draw_networkx_nodes(inside, places, nodelist=some, node_size=[70 * relevance[name] for name in some], node_color=colour,
                           node_shape=shape, edgecolors="black", linewidths=0.6, label=label, ax=axes)  # fmt: skip
for name, (x, y) in places.items():
    angle, flip = math.degrees(math.atan2(y, x)), x < 0  # names stand outside the circle, none upside down
    axes.text(1.1 * x, 1.1 * y, f"{name} ({mentioned_by[name]})", fontsize=9, rotation=angle + 180 * flip,
              rotation_mode="anchor", ha="right" if flip else "left", va="center")  # fmt: skip
axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.04), ncols=2, frameon=False)
axes.set(xlim=(-1.75, 1.75), ylim=(-1.75, 1.75), aspect="equal")
axes.axis("off")

most = max(sorted(mentioned_by), key=mentioned_by.get)
show(
    figure,
    alt=f"Network of {len(names)} accounts on a circle with {inside.number_of_edges()} arrows from who mentions to who is mentioned.",
    caption=f"**Figure 3: mentions in posts on topic.** An arrow leads from who mentions to who is mentioned; the number after a name "
    f"counts the others in the picture who mention it. Larger marks are more relevant; circles are seeds, squares were "
    f"discovered. {most} is mentioned by most, {mentioned_by[most]} of them.",
)

# %% [markdown]
# `nx.write_gexf(network, "network.gexf")` writes the whole network for Gephi. `socialcrawl export` writes networks of any size.
#
# ## 7. Do the same with your own campaign
#
# 1. Write a campaign file: `socialcrawl init astronomy.toml --keyword telescope`. Estimate its cost: `socialcrawl quote astronomy.toml`.
#    Run it: `socialcrawl run astronomy.toml`. On Bluesky and Mastodon it costs nothing: add `--platform bluesky` to `init`.
# 2. Open its database with `sc.open("astronomy.db")`, or a PostgreSQL server with `sc.open("postgresql://USER@HOST/NAME")`.
# 3. Run the cells from section 2 on.
#
# Before you publish:
#
# - **Figures of a collection are not figures of the platform.** A campaign reads what is most relevant, not a random sample. For
#   shares with an interval, draw a sample: notebook 6.
# - **Names are personal data.** Replace them with `socialcrawl export --pseudonymise`, and check what the platform's terms let you
#   publish. A notebook keeps its outputs: clear them before you share it.

# %%
data.close()
scratch.cleanup()  # deletes the database; your own campaign keeps its file
