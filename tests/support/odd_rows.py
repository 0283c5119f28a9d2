"""Rows that a crawl of the small town does not bring: odd accounts and answers, and campaigns of all other kinds."""

DAY = "2026-02-03"

# What the small town does not do by itself: a link to an account under another name, dates, a second day and a second
# campaign, a timeline that goes on, an answer without a reply, an import, a forgotten account, a link to oneself.
TROUBLE = [
    "update post set created_at = '2026-01-01T00:00:0' || substr(id, length(id)) || '.000Z'",
    "insert into account (node, platform, handle, username, first_seen_at) values (900, 'x', 'old', 'Old', '2026')",
    "insert into account (node, platform, platform_id, first_seen_at) values (901, 'x', 'nameless', '2026')",
    "insert into account (node, platform, first_seen_at, forgotten_at) values (902, 'x', '2026', '2026')",
    "insert into account (node, platform, platform_id, username, first_seen_at) values (903, 'x', '77', 'New', '2026')",
    ("insert into campaign (id, name, platform, seed, settings, identity, created_at) "
     "values (70, 'other', 'x', 1, '{}', '{}', '2026')"),
    *[f"insert into pick (campaign, n, batch, node, act, score) values (70, {n}, {n}, {node}, '{act}', 0.5)"
      for n, (node, act) in enumerate([(-1, "search"), (-1, "search"), (-2, "search"), (0, "import"), (900, "expand"),
                                       (901, "expand"), (12, "expand"), (12, "expand"), (13, "expand")])],
    *[f"insert into outcome (campaign, n, node, at, value, occurrences, posts, missing) values (70, {n}, {node}, "
      f"'2026-02-03T00:00:00.000000Z', {value}, 2, 3, {missing})"
      for n, node, value, missing in [(0, -1, 0, "'temporary'"), (1, -1, 0, "null"), (2, -2, 0, "'unknown'"),
                                      (3, 0, 1.5, "null"), (4, 900, 0, "'same-as:903'"), (5, 901, 2.5, "null"),
                                      (6, 12, 0, "'temporary'"), (7, 12, 0, "'temporary'")]],
    *[f"insert into link (campaign, n, position, node, alpha) values (70, {n}, {position}, {node}, {alpha})"
      for n, position, node, alpha in [(1, 0, 5, 0.0), (3, 0, 900, 1.25), (3, 1, 903, 0.5), (3, 2, 0, 9.0),
                                       (3, 3, 902, 1.0), (3, 4, 12, 1.0), (5, 0, 12, 0.0), (5, 1, 901, 3.0),
                                       (5, 2, 13, 2.0), (5, 3, 8, 1.0), (5, 4, 14, 1.0)]],
    *["insert into request (id, campaign, n, part, endpoint, params, credential, items, most, sent_at, arrived_at, "
      f"kind, status, posts, cost, cursor, new_posts, new_users) values ({2000 + i}, 70, {n}, {part}, '{end}', '{{}}', "
      f"'main', 3, 700, '{DAY}T23:59:59.0Z', {at}, {kind}, {status}, {posts}, {cost}, {cursor}, {new}, 2)"
      for i, (n, part, end, at, kind, status, posts, cost, cursor, new) in enumerate([
          (0, 1, "/s", "'2026-02-04T00:00:00.0Z'", "'window'", 429, 0, 0, "null", "null"),
          (1, 1, "/s", "'2026-02-04T00:00:00.0Z'", "'ok'", 200, 4, 100, "'next'", 3),
          (3, 1, "/t", "'2026-02-03T23:59:59.5Z'", "'held'", 200, 4, 0, "'next'", 0),
          (5, 1, "/t", "'2026-02-03T23:59:59.5Z'", "'held'", 200, 4, 0, "'next'", 0),
          (5, 2, "/t", "'2026-02-03T23:59:59.5Z'", "'ok'", 200, 4, 90, "'more'", "null"),
          (8, 1, "/t", "null", "null", "null", "null", "null", "null", "null"),
      ])],
    *["insert into standing (campaign, node, visits, visited_at, relevance, occurrences, indegree, outlinks, "
      f'"yield", link_score, importance, history, gone) values ({told})'
      for told in ["70, 0, 2, '2026-02-03T00:00:00.0Z', 1.5, 2, 3.0, 4.0, 0.5, 7.0, 0.5, 0.75, null",
                   "70, 901, 1, '2026-02-03T00:00:00.0Z', 0.0, 0, 1.0, 2.0, null, null, 0.125, 0.25, 'suspended'",
                   "70, 903, 0, null, 0.0, 0, 1.0, 0.0, null, null, 0.25, 0.0, null",
                   "1, 3, 1, '2026-02-03T00:00:00.0Z', 0.0, 0, 1.0, 2.0, null, null, 0.5, 0.0, null"]],
]  # fmt: skip


def of_campaign(number, name, picks, links=()):
    """The rows of a campaign: picks are (node, act, value, missing, mark, posts) or, while they are open, (node, act).

    Args:
        number: campaign.id.
        name: of it.
        picks: in their order.
        links: (n, target, alpha).
    """
    yield (
        "insert into campaign (id, name, platform, seed, settings, identity, created_at) "
        f"values ({number}, '{name}', 'x', 1, '{{}}', '{{}}', '2026')"
    )
    for n, (node, act, *said) in enumerate(picks):
        yield (
            f"insert into pick (campaign, n, batch, node, act, score) values ({number}, {n}, {n}, {node}, '{act}', "
            "0.25)"
        )
        if said:
            value, missing, mark, posts = said
            told = ", ".join("null" if word is None else f"'{word}'" for word in (missing, mark))
            yield (
                "insert into outcome (campaign, n, node, at, value, occurrences, posts, missing, mark) values "
                f"({number}, {n}, {node}, '{DAY}T12:00:{n:02}.000000Z', {value}, 0, {posts}, {told})"
            )
    for position, (n, target, alpha) in enumerate(links):
        yield (f"insert into link (campaign, n, position, node, alpha) values ({number}, {n}, {position}, {target}, "
               f"{alpha})")  # fmt: skip


LAST = f"{DAY}T01:00:00Z"
# An old dataset whose accounts are alive, silent, gone, forgotten, somebody else, not tested, or whose test failed.
ALIVE = of_campaign(
    71, "alive",
    [(0, "import", 0, None, "a.example", 0), (900, "import", 0, None, "", 0), (901, "import", 0, None, None, 0),
     (12, "import", 0, None, None, 0), (902, "import", 0, "forgotten", None, 0), (13, "import", 0, None, None, 0),
     (14, "import", 0, None, None, 0), (0, "probe", 1, None, LAST, 0), (901, "probe", 0, None, "2020-01-01", 0),
     (12, "probe", 0, "temporary", None, 0), (902, "probe", 1, None, LAST, 0),
     (900, "probe", 0, "same-as:903", None, 0), (7, "probe", 0, "temporary", None, 0),
     (13, "probe", 0, "suspended", None, 0), (12, "probe", 1, None, LAST, 0), (5, "probe", 0, "temporary", None, 0),
     (14, "probe")],
    [(0, 900, 2.0), (0, 12, 1.0), (1, 0, 1.0), (2, 0, 1.0), (2, 8, 1.0), (2, 901, 1.0), (3, 7, 1.0)],
)  # fmt: skip
# A sample whose walks met people on and off topic, gone and failing, and who was told by a search who mentions them.
DRAWN = of_campaign(
    72, "drawn",
    [(-1, "search", 0, None, None, 4), (8, "resolve", 0, None, None, 0), (0, "walk", 1, None, "a.example", 3),
     (0, "inward", 0, None, None, 5), (12, "walk", 0, None, None, 2), (13, "walk", 0, "suspended", None, 0),
     (14, "walk", 0, "temporary", None, 0), (14, "inward", 0, "temporary", None, 0),
     (8, "walk", 1, None, "b.example", 1), (902, "walk", 1, None, None, 2), (900, "walk", 0, "same-as:903", None, 0),
     (14, "walk", 0, "temporary", None, 0), (7, "inward", 0, "protected", None, 0), (6, "walk")],
    [(0, 8, 0.0), (2, 12, 1.0), (2, 900, 2.0), (2, 0, 1.0), (2, 14, 0.0), (2, 6, 1.5), (3, 12, 0.0), (3, 901, 0.0),
     (3, 0, 0.0), (8, 6, 1.0), (8, 902, 1.0), (4, 7, 0.0)],
)  # fmt: skip
SAMPLED = [f"insert into sampled (campaign, node, visits, weight, degree) values (72, {told})"
           for told in ("0, 3, 0.625, 5", "8, 1, 0.25, 2", "902, 1, 0.125, 4")]  # fmt: skip
PAGES = ["insert into request (id, campaign, n, part, endpoint, params, credential, items, most, sent_at, arrived_at, "
         f"kind, status, posts, cost, cursor, new_posts, new_users) values ({3000 + i}, {campaign}, {n}, 1, '{end}', "
         f"'{{}}', 'main', 3, 700, '{DAY}T12:00:00.0Z', '{DAY}T12:00:01.0Z', '{kind}', 200, 0, {cost}, {cursor}, 0, 0)"
         for i, (campaign, n, end, kind, cost, cursor) in enumerate([
             (71, 7, "/u", "ok", 1000, "null"), (71, 12, "/u", "missing", 0, "null"), (71, 8, "/u", "held", 0, "null"),
             (72, 2, "/t", "ok", 500, "'next'"), (72, 3, "/m", "ok", 500, "'next'"), (72, 8, "/t", "ok", 500, "null"),
             (72, 14, "/t", "lost", 500, "null")])]  # fmt: skip
# A capture of two queries: slices that are complete, cut, open, failed for good, or failed once and were read then.
SPANS = ["2026-01-03T00:00:00Z/2026-01-04T00:00:00Z", "2026-01-02T00:00:00Z/2026-01-03T00:00:00Z",
         "2026-01-01T00:00:00Z/2026-01-02T00:00:00Z"]  # fmt: skip
CAPTURED = [
    *of_campaign(
        73, "captured",
        [(-1, "slice", 0, None, None, 5), (-1, "slice", 0, "temporary", None, 0),
         (-1, "slice", 0, None, "2026-01-02T12:00:00.000000Z", 9), (-2, "slice", 0, "temporary", None, 0),
         (-2, "slice", 0, "temporary", None, 2), (-2, "slice", 0, None, None, 0), (-2, "slice")],
        [(0, 8, 0.0), (2, 12, 0.0)],
    ),
    *[f"update pick set since = '{SPANS[place]}' where campaign = 73 and n = {n}"
      for n, place in enumerate([0, 1, 1, 0, 0, 1, 2])],
]  # fmt: skip
# A campaign that begins with the authors of a capture: brought twice, linked to as well, read since, or forgotten.
BROUGHT = of_campaign(
    74, "people",
    [(12, "captured", 1.0, None, "captured:2", 1), (13, "captured", 1.0, None, "captured:2", 1),
     (0, "captured", 1.0, None, "captured:2", 1), (902, "captured", 1.0, None, "captured:2", 1),
     (12, "captured", 2.0, None, "captured:4", 3), (0, "expand", 1.5, None, None, 4)],
    [(5, 12, 0.5), (5, 8, 1.0)],
)  # fmt: skip
TROUBLE += [*BROUGHT, *ALIVE, *DRAWN, *SAMPLED, *PAGES, *CAPTURED]
