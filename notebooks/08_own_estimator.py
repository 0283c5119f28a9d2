# %% [markdown]
# # Write your own estimator
#
# **Goal:** you write an estimator in ten lines, compare it fairly with the built-in ones, let it learn, and use it in a live campaign.
#
# Read notebook 2 first. You need some Python and a little NumPy. Nothing uses the network. The notebook takes about a minute.

# %%
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import socialcrawl as sc
from course import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, folder, make_posts, show, socialcrawl, start_mock
from socialcrawl.testing import ESTIMATOR_CHECKS

posts = make_posts(folder / "posts.parquet", users=4_000)
graph = sc.Graph.from_posts(posts, keywords=["telescope"])
graph

# %% [markdown]
# ## 1. What an estimator sees
#
# After each step the crawl asks: which account of the **frontier** (mentioned, not read yet) is worth most? An estimator answers
# with one number for each. It knows these features of an account:
#
# | feature | meaning |
# |---|---|
# | `depth` | links from the nearest seed |
# | `links` | accounts read so far that mention it |
# | `n_sum`, `n_max`, `n_avg` | sum, maximum, mean of the relevance of the accounts that mention it |
# | `e_sum`, `e_max`, `e_avg` | the same for the weights of the mentions (how much they are about the topic) |
# | `ne_sum`, `ne_max`, `ne_avg` | the same for relevance times weight |
#
# An estimator is a class with one method. `graph.column(name, rows)` is a feature of the accounts in `rows`, as a NumPy array. `n` is
# the number of steps so far.

# %%
class MostMentioned(sc.Estimator):
    """Read the account next that most accounts mention."""

    def score(self, graph, rows, n):
        return graph.column("links", rows)


class Shrunk(sc.Estimator):
    """Mean relevance of the accounts that mention it, shrunk towards 0 while there are few of them."""

    def __init__(self, k=1.0):
        self.k = k
        self.name = f"shrunk, k = {k:g}"

    def score(self, graph, rows, n):
        n_sum, links = graph.columns(("n_sum", "links"), rows)
        return n_sum / (links + self.k)


# %% [markdown]
# `Shrunk` has an idea behind it. A sum (`nh-n-sum`) prefers famous accounts that everybody mentions. A mean (`nh-n-avg`) trusts a
# single mention as much as a hundred. With a constant k in the denominator, an account needs about k mentions before its mean
# counts. A small k behaves like the mean, a large k like the sum.
#
# ## 2. Compare it with the built-in ones

# %%
result = sc.simulate(graph, estimators=["bfs", "nh-n-avg", "nh-n-sum", MostMentioned, Shrunk(1), Shrunk(5)], steps=300, seeds=10)
result.compare().to_polars().with_columns(pl.col("mean", "sd", "lowest", "highest").round(1))

# %%
COLOURS = [BLACK, PURPLE, ORANGE, GREY, GREEN, BLUE]
STYLES = ["--", "-.", "-", ":", "--", "-"]
figure, axes = plt.subplots(figsize=(9, 4.4))
for (name, curves), colour, style in zip(result.curves.items(), COLOURS, STYLES):
    axes.plot(range(1, 301), curves.mean(axis=0), color=colour, linestyle=style, label=name)
axes.set_xlabel("accounts read after the seeds")
axes.set_ylabel("relevance found (mean of ten sets of seeds)")
axes.set_xlim(0), axes.set_ylim(0)
axes.legend(frameon=False, ncols=2)
ends = {name: curves[:, -1].mean() for name, curves in result.curves.items()}
ranking = sorted(ends, key=ends.get, reverse=True)
show(
    figure,
    alt="Six rising curves. At step 300, from high to low: " + ", ".join(f"{name} {ends[name]:.0f}" for name in ranking) + ".",
    caption=f"**Figure 1: three estimators of our own beside three built-in ones.** `{ranking[0]}` ends highest ({ends[ranking[0]]:.0f}). "
    f"`MostMentioned` ignores the topic and finds {100 * ends['MostMentioned'] / ends[ranking[0]]:.0f} % of that.",
)

# %% [markdown]
# ## 3. Choose k without fooling yourself
#
# If you try many values and report the best one on the same data, its result looks better than it is. So choose k on one half of
# the seeds and test it on the other half.

# %%
KS = [0.1, 0.3, 1, 3, 10, 30, 100]
tried = sc.simulate(graph, estimators=[Shrunk(k) for k in KS], steps=300, seeds=20)
scores = np.array([curves[:, -1] for curves in tried.curves.values()])  # one row a k, one column a set of seeds
choose, test = scores[:, :10], scores[:, 10:]
best = int(choose.mean(axis=1).argmax())

figure, axes = plt.subplots(figsize=(9, 3.6))
axes.plot(KS, choose.mean(axis=1), color=BLUE, marker="o", label="sets 1 to 10 (to choose)")
axes.plot(KS, test.mean(axis=1), color=ORANGE, marker="s", linestyle="--", label="sets 11 to 20 (to test)")
axes.set_xscale("log")
axes.set_xlabel("k")
axes.set_ylabel("relevance after 300 steps")
axes.legend(frameon=False)
show(
    figure,
    alt=f"Two curves over k from 0.1 to 100; the first is highest at k = {KS[best]:g}.",
    caption=f"**Figure 2: the choice of k.** On the first ten sets k = {KS[best]:g} is best, with {choose.mean(axis=1)[best]:.0f}. On the "
    f"other ten it finds {test.mean(axis=1)[best]:.0f}: the number to report. Where the curves differ from each other more than they "
    "vary with k, the choice of k matters less than luck.",
)

# %% [markdown]
# ## 4. Let it learn
#
# After each account that was read, `learn(x, y)` tells an estimator what it guessed about: `x`, of shape (1, 8), has the features of
# that account as they were when it was picked, and `y`, of shape (1,), its true relevance. This one
# fits a ridge regression on the logarithms of all eight features, and begins like `nh-n-sum`.

# %%
class Learning(sc.Estimator):
    """Ridge regression on log(1 + feature), fitted again after each account."""

    NAMES = ("depth", "links", "n_sum", "n_max", "e_sum", "e_max", "ne_sum", "ne_max")

    def __init__(self, wait=50, penalty=10.0):
        self.name = f"learning, wait = {wait}"
        self.wait, self.seen = wait, 0
        self.xx = penalty * np.eye(len(self.NAMES) + 1)  # sums of products: all that a ridge regression has to remember
        self.xy = np.zeros(len(self.NAMES) + 1)

    @staticmethod
    def transform(x):
        return np.column_stack([np.ones(len(x)), np.log1p(np.clip(x, 0, 1e6))])

    def learn(self, x, y):
        row = self.transform(x)[0]
        self.xx += np.outer(row, row)
        self.xy += row * y[0]
        self.seen += 1

    def score(self, graph, rows, n):
        if self.seen < self.wait:
            return graph.column("n_sum", rows)
        columns = self.transform(graph.columns(self.NAMES, rows).T).T
        weights = np.linalg.solve(self.xx, self.xy)
        return sum(weight * column for weight, column in zip(weights, columns))  # each row alone: @ may round differently


learned = sc.simulate(graph, estimators=["nh-n-sum", Shrunk(KS[best]), "lnh-sum", Learning(50)], steps=300, seeds=10)
learned.compare().to_polars().with_columns(pl.col("mean", "sd", "lowest", "highest").round(1))

# %% [markdown]
# Four rules that keep a learning estimator reliable:
#
# - **`score` changes nothing.** It may be called twice for the same step.
# - **The score of an account depends on that account alone**, bit for bit, not on which others are scored with it.
# - **Only the history is learned.** A campaign that resumes after a crash makes a fresh estimator, which learns the stored history
#   account by account, and has to arrive at the same scores.
# - **No clock and no global random generator.** The same history gives the same scores.
#
# The test kit checks them, here with `wait=5`, so that the regression scores too:

# %%
for check in ESTIMATOR_CHECKS:
    check(lambda: Learning(wait=5))
print(f"{len(ESTIMATOR_CHECKS)} checks passed")

# %% [markdown]
# ## 5. Use it in a live campaign
#
# Save the class in a Python file, and name it as `module:Class`. `socialcrawl run` finds modules in the folder where it is run.
# Here the campaign runs against a mock of X, with `Shrunk` in the lead. `lnh-sum` is a **shadow**: it scores along, decides nothing
# and costs nothing. A fifth of the steps reads accounts drawn at random, the **control**.

# %%
(folder / "mine.py").write_text('''
import socialcrawl as sc


class Shrunk(sc.Estimator):
    """Mean relevance of the accounts that mention it, shrunk towards 0 while there are few of them."""

    def score(self, graph, rows, n):
        n_sum, links = graph.columns(("n_sum", "links"), rows)
        return n_sum / (links + 30.0)
''')
(folder / "own.toml").write_text(f"""
name = "own"
database = "own.db"
[topic]
keywords = ["telescope"]
[seeds]
most = 20
[crawl]
estimator = "mine:Shrunk"
shadows = ["lnh-sum"]
control = 0.2
steps = 300
[source]
base_url = "{start_mock(posts, "--window", "1s", "--per-window", 2_000)}"
""")
socialcrawl("run", "own.toml", "--yes", quiet=True)
with sc.open(folder / "own.db") as data:
    steering = data.report().to_dict()["steering"]

# %%
groups = {
    f"{steering['steps']} steps by Shrunk": steering["mean"],
    f"{steering['breadth']['steps']} drawn near the seeds": steering["breadth"]["mean"],
    f"{steering['chance']['steps']} drawn from all known": steering["chance"]["mean"],
}
figure, axes = plt.subplots(figsize=(9, 2.6))
axes.barh(list(groups)[::-1], list(groups.values())[::-1], color=[GREY, GREY, BLUE])
axes.set_xlabel("mean relevance of an account")
gain = steering["chance"]["gain"]
show(
    figure,
    alt="Three bars: " + ", ".join(f"{name} {value:.2f}" for name, value in groups.items()) + ".",
    caption=f"**Figure 3: does steering pay?** An account that `Shrunk` chose is worth {gain['value']:+.2f} against a drawn one, with a "
    f"99 % interval from {gain['low']:+.2f} to {gain['high']:+.2f}. "
    + ("It leaves out 0: better than chance." if gain["low"] > 0 else "It includes 0, so 300 steps do not prove that yet: relevance "
    "varies much from account to account. `report` says how many more steps may tell."),
)

# %% [markdown]
# To publish it, put the class into a package with an entry point of the group `socialcrawl.estimators`. Then anyone can write
# `estimator = "shrunk"` after `pip install`. The developers' guide to
# [estimators](../docs/development/estimators.md) shows the whole package.
