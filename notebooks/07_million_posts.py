# %% [markdown]
# # SQL, DuckDB and polars on a million posts
#
# **Goal:** you answer questions about a million posts in a second each, without loading them into memory, and you measure
# what share of a topic a crawl has collected.
#
# You need a little SQL. The posts are generated and their authors are invented. Nothing here uses the network. The notebook
# takes about one minute.

# %%
import duckdb
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import socialcrawl as sc
from course import BLUE, GREY, ORANGE, folder, make_posts, show, socialcrawl

posts = make_posts(folder / "posts.parquet", users=25_000)  # your own: the file posts.parquet of an export
print(f"{posts.stat().st_size / 1e6:.0f} MB")

# %% [markdown]
# `socialcrawl export FOLDER` writes such a file from your own campaign. **Parquet** stores each column apart and compressed, so
# a program reads only the columns that a question needs.
#
# ## 1. Ask a file with SQL
#
# **DuckDB** is a database without a server. It runs SQL on a Parquet file as if the file were a table.

# %%
database = duckdb.connect()
database.execute(f"create view posts as select *, make_timestamp(created_at * 1_000_000) as posted_at from '{posts}'")
database.sql("""
    select count(*) as posts,
           count(distinct author) as accounts,
           min(posted_at)::date as first_day,
           max(posted_at)::date as last_day
    from posts
""").pl()

# %% [markdown]
# `.pl()` returns a polars data frame; `.df()` returns a pandas one. Look at some posts before you count anything:

# %%
database.sql("select author, posted_at, text from posts where text like '%telescope%' order by posted_at, author limit 5").pl()

# %% [markdown]
# ## 2. Which posts are on topic?
#
# A post is on topic if it contains the word "telescope". The pattern `\b` is the edge of a word, so "telescopes" does not
# match. Store the answer once, as a table: the text is the largest column, and reading it is what takes time.

# %%
database.execute(r"""
    create table topic as
    select author, posted_at, mentions, regexp_matches(text, '\btelescope\b', 'i') as on_topic
    from posts
""")
database.sql("""
    select count(*) filter (on_topic) as posts_on_topic,
           round(100 * avg(on_topic::int), 2) as percent,
           count(distinct author) filter (on_topic) as accounts
    from topic
""").pl()

# %% [markdown]
# When do people write about it? Group by the hour of the day.

# %%
hours = database.sql("""
    select hour(posted_at) as hour,
           count(*) / (select count(*) from topic) as all_posts,
           count(*) filter (on_topic) / (select count(*) filter (on_topic) from topic) as on_topic
    from topic group by hour order by hour
""").pl()

figure, axes = plt.subplots(figsize=(9, 3.6))
axes.plot(hours["hour"], 100 * hours["all_posts"], color=GREY, linewidth=3, label="all posts")
axes.plot(hours["hour"], 100 * hours["on_topic"], color=BLUE, marker="o", label='posts with "telescope"')
axes.set_xlabel("hour of the day (UTC)")
axes.set_ylabel("share of the posts (%)")
axes.set_xticks(range(0, 24, 3))
axes.set_ylim(0)
axes.legend(frameon=False)

busiest = hours.sort("on_topic", descending=True).row(0, named=True)
show(
    figure,
    alt=f"Two lines over the 24 hours of the day; the posts on topic are most frequent at {busiest['hour']}:00 UTC.",
    caption=f"**Figure 1: when people post.** {100 * busiest['on_topic']:.1f} % of the posts on topic are written from "
    f"{busiest['hour']}:00 to {busiest['hour']}:59 UTC. Both lines fall at night: most of these people live in Europe. A topic of "
    "one country would have a different curve. Always state the time zone.",
)

# %% [markdown]
# ## 3. The same with polars
#
# **polars** writes the question as a chain of steps. `scan_parquet` reads nothing; `collect` plans all steps together, reads two
# columns and runs on all processors.

# %%
activity = (
    pl.scan_parquet(posts)
    .group_by("author")
    .agg(
        pl.len().alias("posts"),
        pl.col("text").str.contains(r"(?i)\btelescope\b").sum().alias("on_topic"),
    )
    .sort("posts", "author", descending=[True, False])
    .collect()
)
assert activity["on_topic"].sum() == database.sql("select count(*) from topic where on_topic").fetchall()[0][0]
activity.head(5)

# %% [markdown]
# The `assert` is worth a habit: compute an important number in two ways. Here DuckDB and polars agree.
#
# How unequal is the activity? Sort the accounts by their number of posts and add up.

# %%
shares = 100 * activity["posts"].cum_sum() / activity["posts"].sum()
accounts = 100 * np.arange(1, len(activity) + 1) / len(activity)
top = shares[len(activity) // 10 - 1]

figure, axes = plt.subplots(figsize=(9, 3.8))
axes.plot(accounts, shares, color=BLUE)
axes.plot([0, 100], [0, 100], color=GREY, linestyle="--", label="if all posted equally often")
axes.plot(10, top, "o", color=ORANGE, markersize=9, label="the most active 10 %")
axes.set_xlabel("accounts, the most active first (%)")
axes.set_ylabel("posts (%)")
axes.legend(frameon=False, loc="lower right")
show(
    figure,
    alt=f"A curve that rises steeply: 10 % of the accounts wrote {top:.0f} % of the posts.",
    caption=f"**Figure 2: few write much.** The most active 10 % of the accounts (dot) wrote {top:.0f} % of all posts. A "
    "sample of *posts* hears them far more than others. If your question is about people, count accounts.",
)

# %% [markdown]
# ## 4. Who is mentioned most in posts on topic?
#
# `mentions` is a list. `unnest` makes a row of each of its entries.

# %%
database.sql("""
    select mentioned, count(*) as mentions, count(distinct author) as by_accounts
    from (select author, unnest(mentions) as mentioned from topic where on_topic)
    group by mentioned
    order by by_accounts desc, mentions desc, mentioned
    limit 8
""").pl()

# %% [markdown]
# `by_accounts` is the fairer number: one account that mentions a friend a hundred times counts once.
#
# ## 5. What share of the topic has a crawl collected?
#
# Here you know the whole world: a million posts. A campaign does not. Let one crawl this world from 30 seeds for 400 steps. It
# reads 430 accounts. The world has more than 25,000: some never post and are only mentioned.

# %%
socialcrawl("demo", "--posts", posts, "--keyword", "telescope", "--seed-size", 30, "--steps", 400, "--per-window", 5_000,
            "--db", "million.db", "--json", quiet=True)  # fmt: skip
data = sc.open(folder / "million.db")
data.list_campaigns().to_polars().select("campaign", "accounts_read", "posts_on_topic", "requests")

# %% [markdown]
# `data.sql` runs SQL on the campaign's own database, which is SQLite here. `data.posts()` and `data.accounts()` are tables that become
# data frames of pandas or polars, or Arrow tables that DuckDB reads in place. So the collection can be joined to the world:

# %%
read = data.sql("""
    select lower(account) as author, step from campaign_progress where act in ('seed', 'expand') and missing is null
""").to_arrow()
relevance = database.sql("""
    select lower(author) as author, 1 + ln(count(*)) as relevance from topic where on_topic group by 1
""").pl()
database.register("collected", read)
database.register("truth", relevance)
world = database.sql("""
    select world.author, coalesce(relevance, 0) as relevance, step, collected.author is not null as was_read
    from (select lower(author) as author from topic union select unnest(mentions) from topic) world
    left join truth on truth.author = world.author
    left join collected on collected.author = world.author
""").pl()
world.group_by("was_read").agg(
    pl.len().alias("accounts"),
    (pl.col("relevance") > 0).sum().alias("on_topic"),
    pl.col("relevance").mean().round(3).alias("mean_relevance"),
).sort("was_read")

# %% [markdown]
# **Relevance** is 1 + ln(posts on topic), or 0 without any. What did each step add, compared with drawing accounts by chance?

# %%
steps = world.filter(pl.col("step").is_not_null()).sort("step")
found = 100 * steps["relevance"].cum_sum() / world["relevance"].sum()
chance = 100 * np.arange(1, len(steps) + 1) / len(world)
factor = found[-1] / chance[-1]

figure, axes = plt.subplots(figsize=(9, 3.8))
axes.plot(steps["step"], found, color=BLUE, label="the crawl")
axes.plot(steps["step"], chance, color=GREY, linestyle="--", label="accounts drawn by chance (expected)")
axes.set_xlabel("accounts read after the seeds")
axes.set_ylabel("relevance found\n(% of the whole world)")
axes.legend(frameon=False)
show(
    figure,
    alt=f"The curve of the crawl rises to {found[-1]:.1f} %, the line of chance to {chance[-1]:.1f} %.",
    caption=f"**Figure 3: focused crawling against chance.** With {len(steps)} of {len(world):,} accounts the crawl found "
    f"{found[-1]:.1f} % of the topic's relevance, {factor:.0f} times as much as chance would. Notebook 2 compares it with better "
    "rivals than chance.",
)

# %% [markdown]
# ## 6. When the data do not fit into memory
#
# - DuckDB and `scan_parquet` read a file in pieces, so files larger than memory work as above.
# - `data.posts().batches()` reads a campaign's database in pieces. Each is an Arrow record batch.

# %%
occurrences = batches = 0
for batch in data.posts(on_topic=True).batches(size=1_000):
    occurrences += sum(batch.column("occurrences").to_pylist())
    batches += 1
print(f"{occurrences:,} occurrences of the keyword, read in {batches} batches")

# %% [markdown]
# ## What to take with you
#
# - Ids are text. They have up to 19 digits, and a data frame that makes numbers of them loses the last ones.
# - Count accounts, not posts, if your question is about people.
# - Tables and columns of the database are described in the reference of the documentation, and keep their names.

# %%
data.close()
database.close()
