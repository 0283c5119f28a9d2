# %% [markdown]
# # Which estimator suits my topic?
#
# **Goal:** you replay crawls on posts that you already have, compare estimators over several starts, and choose one before you
# spend a single request.
#
# An **estimator** scores the accounts that were mentioned but not read yet. The crawl reads the account with the highest score
# next. No estimator is best on every topic, so it pays to try.
#
# You need posts on a similar topic: an earlier campaign, or a dataset that you were given. Here they are generated. Nothing
# uses the network. The notebook takes about a minute.

# %%
import matplotlib.pyplot as plt
import polars as pl

import socialcrawl as sc
from course import BLACK, BLUE, GREEN, ORANGE, SKY, folder, make_posts, show

posts = make_posts(folder / "posts.parquet", users=4_000)  # your own: Parquet, CSV or JSON lines with author, created_at, text
pl.read_parquet(posts, columns=["author", "text"]).sample(4, seed=3)

# %% [markdown]
# ## 1. Make a graph of the posts
#
# A **known graph** has every account (node), what it is worth, and who mentions whom (links). The **relevance** of an account is
# 1 + ln(how often it uses the keyword). The **weight** of a link is the same, counted in the posts that mention.

# %%
graph = sc.Graph.from_posts(posts, keywords=["telescope"])
graph

# %% [markdown]
# ## 2. Replay crawls
#
# `simulate` starts at 20 drawn relevant accounts, the seeds, and reads 300 accounts. The crawl sees only what a real crawl would
# see: an account's mentions appear when it has been read. It repeats this from ten sets of seeds, so that you can tell luck from
# skill.
#
# | estimator | how it scores an account |
# |---|---|
# | `random` | by chance |
# | `bfs` | by nearness to the seeds: breadth-first, what most collection scripts do |
# | `nh-n-sum` | by the relevance of the accounts that mention it |
# | `nh-ne-sum` | the same, times the weight of the mentions |
# | `lnh-sum` | by a linear regression that it learns from the accounts read so far |
# | `oracle` | by the truth, which only a simulation knows |
#
# The default of a campaign, `hybrid-sum`, scores like `nh-ne-sum` for its first 1,000 steps and like `lnh-sum` afterwards, so
# it needs no line here.

# %%
ESTIMATORS = ["random", "bfs", "nh-n-sum", "nh-ne-sum", "lnh-sum", "oracle"]
COLOURS = dict(zip(ESTIMATORS, ["#777777", BLACK, SKY, GREEN, BLUE, ORANGE]))
STYLES = dict(zip(ESTIMATORS, [":", "--", "-.", "--", "-", "-"]))

result = sc.simulate(graph, estimators=ESTIMATORS, steps=300, seeds=10)
result.compare().to_polars().with_columns(pl.col("mean", "sd", "lowest", "highest").round(1))

# %% [markdown]
# `mean` is the relevance found after 300 steps, on average over the ten sets of seeds. `sd` is how much it varies from set to set.
#
# Look at `lowest` too. From one set of seeds, `lnh-sum` finds less than chance does: a regression that has seen few accounts can
# learn something wrong and follow it for a long time. The default, `hybrid-sum`, therefore waits 1,000 steps before it
# trusts its regression.

# %%
def draw(result, title):
    """Draw the mean curve of each estimator with the band from its lowest to its highest set of seeds."""
    figure, axes = plt.subplots(figsize=(9, 4.6))
    for name, curves in result.curves.items():
        steps = range(1, curves.shape[1] + 1)
        axes.fill_between(steps, curves.min(axis=0), curves.max(axis=0), color=COLOURS[name], alpha=0.12, linewidth=0)
        axes.plot(steps, curves.mean(axis=0), color=COLOURS[name], linestyle=STYLES[name], label=name)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("accounts read after the seeds")
    axes.set_ylabel("relevance found")
    axes.set_xlim(0), axes.set_ylim(0)
    axes.legend(frameon=False, ncols=2)
    return figure


def tell(result):
    """Return the mean score of each estimator after the last step."""
    return {row["estimator"]: row["mean"] for row in result.compare()}


ends = tell(result)
best = max((name for name in ESTIMATORS if name != "oracle"), key=ends.get)
show(
    draw(result, 'topic "telescope"'),
    alt=f"Six rising curves: oracle highest with {ends['oracle']:.0f}, then {best} with {ends[best]:.0f}; breadth-first reaches "
    f"{ends['bfs']:.0f} and random {ends['random']:.0f}.",
    caption=f"**Figure 1: relevance found, by estimator.** Lines are means over ten sets of seeds, bands reach from the lowest to the "
    f"highest set. `{best}` finds {ends[best] / ends['bfs']:.1f} times as much as breadth-first and "
    f"{100 * ends[best] / ends['oracle']:.0f} % of what the oracle finds. Where bands overlap, ten sets of seeds do not tell two "
    "estimators apart.",
)

# %% [markdown]
# `result.plot()` draws a plain version of this picture in one line.
#
# ## 3. Is a difference more than luck?
#
# Every estimator started from the same ten sets. So compare set by set: in how many does one estimator beat the other?

# %%
def compare_pair(result, one, other):
    """Return in how many sets of seeds `one` ends higher than `other`, and the mean difference in percent."""
    a, b = result.curves[one][:, -1], result.curves[other][:, -1]
    return {"estimator": one, "against": other, "wins": f"{(a > b).sum()} of {len(a)}", "difference": f"{100 * (a / b - 1).mean():+.1f} %"}


PAIRS = [("nh-ne-sum", "bfs"), ("nh-ne-sum", "lnh-sum"), ("nh-ne-sum", "nh-n-sum")]
pl.DataFrame([compare_pair(result, *pair) for pair in PAIRS])

# %% [markdown]
# A simple rule: with ten sets, 9 or 10 wins are hardly luck (a fair coin gives 9 or more heads in 1 of 93 trials). 7 of 10
# say nothing.
#
# ## 4. Does the answer hold for another topic?
#
# The same people, another keyword.

# %%
other = sc.Graph.from_posts(posts, keywords=["sourdough"])
again = sc.simulate(other, estimators=ESTIMATORS, steps=300, seeds=10)
then = tell(again)
show(
    draw(again, 'topic "sourdough"'),
    alt=f"The same six curves for another keyword: oracle {then['oracle']:.0f}, nh-ne-sum {then['nh-ne-sum']:.0f}, lnh-sum "
    f"{then['lnh-sum']:.0f}, breadth-first {then['bfs']:.0f}, random {then['random']:.0f}.",
    caption="**Figure 2: the same people, another topic.** All three that use what the crawl has seen are ahead of breadth-first again. "
    f"This time `lnh-sum` is the best of them ({then['lnh-sum']:.0f}); on the first topic it was the worst ({ends['lnh-sum']:.0f}).",
)
pl.DataFrame([compare_pair(again, *pair) for pair in PAIRS])

# %% [markdown]
# ## 5. How many steps are worth it?
#
# The slope of a curve is what the next step brings. Average it over 50 steps.

# %%
figure, axes = plt.subplots(figsize=(9, 3.6))
gains = {}
for name in ("nh-ne-sum", "bfs", "random"):
    mean = result.curves[name].mean(axis=0)
    gains[name] = [(mean[end - 1] - (mean[end - 51] if end > 50 else 0)) / 50 for end in range(50, 301, 50)]
    axes.plot(range(25, 300, 50), gains[name], marker="o", color=COLOURS[name], linestyle=STYLES[name], label=name)
axes.set_xlabel("step (mean over 50 steps)")
axes.set_ylabel("relevance per step")
axes.set_ylim(0)
axes.legend(frameon=False)
show(
    figure,
    alt=f"Relevance per step: nh-ne-sum falls from {gains['nh-ne-sum'][0]:.2f} to {gains['nh-ne-sum'][-1]:.2f}; random stays near "
    f"{gains['random'][-1]:.2f}.",
    caption=f"**Figure 3: what one more account brings.** In the last 50 steps `nh-ne-sum` still finds "
    f"{gains['nh-ne-sum'][-1]:.2f} a step, {gains['nh-ne-sum'][-1] / gains['random'][-1]:.1f} times as much as chance. Breadth-first "
    f"brings {gains['bfs'][-1]:.2f} by then: it has left more of the best accounts unread.",
)

# %% [markdown]
# ## 6. Use the answer
#
# Write the estimator into the campaign file:
#
# ```toml
# [crawl]
# estimator = "nh-n-sum"
# control = 0.1          # a tenth of the steps reads drawn accounts, so that `report` can say whether steering beats chance
# shadows = ["lnh-sum"]  # scores along without spending anything; `report` compares
# ```
#
# For a campaign of a few hundred steps on the first topic, `nh-n-sum` is a safe choice: near the best on average and never far
# below it. The live crawl can differ from the simulation: your old posts are not tomorrow's. `control` and `shadows` measure it on the way.
# Notebook 8 adds your own estimator to this comparison.
