"""How the settings of campaign files are called in forms. Pure."""

BASIC = {
    "name": "Name", "topic.keywords": "Keywords", "topic.languages": "Languages", "capture.from": "From",
    "capture.until": "Until", "capture.ongoing": "Go on with new posts", "seeds.search": "Begin with a search",
    "seeds.usernames": "Accounts to begin with", "refresh.active": "What counts as active", "track.target": "Target",
    "crawl.steps": "Accounts to read", "budget.max_money": "Budget in dollars",
    "budget.max_requests": "Budget of requests", "budget.max_time": "Budget of time", "source.base_url": "Server",
    "source.contact": "Contact", "source.hosts": "Hosts", "source.token_env": "Variable of the token",
}  # fmt: skip
"""What people need for a first campaign, in this order; all else can be opened."""
MORE = {
    "seed": "Seed of random draws", "database": "Database file",
    "topic.patterns": "Regular expressions", "topic.model": "Model file",
    "topic.model_checksum": "Checksum of the model",
    "topic.from": "Posts written since", "topic.until": "Posts written before",
    "accounts.exclude": "Accounts to leave out", "accounts.include": "Exceptions from that",
    "seeds.file": "File of accounts to begin with", "seeds.lists": "Lists of accounts to begin with",
    "seeds.capture": "Capture to begin with", "seeds.most": "Most accounts from the search",
    "seeds.search_pages": "Pages of each search",
    "crawl.estimator": "How accounts are chosen", "crawl.switch_after": "Steps before it turns linear",
    "crawl.start": "How accounts are chosen at first", "crawl.refresh_rate": "Accounts picked together",
    "crawl.strategy": "How the best are picked", "crawl.q": "Share of best picks",
    "crawl.zeta": "Distance from the best", "crawl.control": "Share of steps drawn at random",
    "crawl.nr_d": "Weight of an account's own score", "crawl.features": "What a regressor learns from",
    "crawl.regressor": "Options, earlier name", "crawl.links": "What makes a link",
    "crawl.shadows": "Estimators to compare", "crawl.follow": "Let a better one take over",
    "budget.max_nodes": "Budget of accounts", "budget.max_posts": "Budget of posts",
    "budget.confirm_above": "Ask from this cost on, in dollars",
    "source.insecure": "Allow an unencrypted token", "source.identifier": "Handle to sign in with",
    "source.domain": "Domain in the names", "source.opt_outs": "Respect opt-outs", "source.tokens": "Several tokens",
    "source.applications": "Applications of the tokens", "source.vocabulary": "Field names of X",
    "source.read": "How accounts are read", "source.archive": "Search the full archive",
    "source.pages_per_user": "Pages of each account", "source.reuse_hours": "Use stored answers, in hours",
    "source.policy": "Table of prices and limits", "source.keep_original": "Keep the platform's JSON",
    "source.keep_answers": "Keep whole answers", "source.timeout": "Wait for an answer, in seconds",
    "source.deadline": "Longest answer, in seconds", "source.search": "Version of the search",
    "source.full_text": "Search texts",
    "limits.k": "Requests in a window", "limits.d": "Length of a window, in seconds",
    "limits.pause": "First pause after an error, in seconds", "limits.longest_pause": "Longest pause, in seconds",
    "limits.give_up": "Stop after failures for, in seconds", "limits.cycle_day": "First day of the billing month",
    "limits.weight": "Share beside other campaigns", "limits.min_free_disk": "Disk space to leave free",
    "schedule.continuous": "Always on", "schedule.cron": "Times to begin, as for cron",
    "schedule.every": "Time between turns", "schedule.lasting": "Length of a turn",
    "schedule.between": "Hours of the day",
    "schedule.timezone": "Time zone", "compliance.every": "Time between checks",
    "fleet.scheduler": "Address of the Dask scheduler", "notify.on": "Events to report",
    "notify.command": "Program to run", "notify.webhook_env": "Variable of the webhook's address",
    "notify.apprise_env": "Variable of apprise's addresses",
    "track.topical": "Only links on topic count", "track.extra": "Extra cash for links on topic",
    "track.memory": "How far back importance looks", "track.lean": "New accounts or known ones",
    "track.expansion": "How new accounts are chosen", "track.recrawl": "How known accounts are chosen",
    "track.p": "Probability of a return visit", "track.window": "Age of posts that count",
    "track.rest": "Rest after a visit", "track.again": "Wait before a lost account is tried again",
    "track.parallel": "Repeated links",
    "refresh.rank": "Order of the tests", "refresh.training": "Accounts to learn from",
    "refresh.z": "Number of accounts to learn from", "refresh.neighbours": "Neighbours among them",
    "refresh.check": "Random accounts for the estimate", "refresh.fraction": "Share of active accounts to find",
    "refresh.stop": "How that share is judged", "refresh.protected": "Closed accounts count as active",
    "refresh.linked": "Test accounts that are only linked to", "refresh.damping": "Damping of PageRank",
    "refresh.tolerance": "Error of PageRank", "refresh.rounds": "Rounds of dpr",
    "refresh.top": "Size of the top of dpr",
    "refresh.every": "Tests between rounds of dpr", "refresh.redirects": "Moved pages count as active",
    "refresh.soft": "Detect pages that say “not found”", "refresh.workers": "Campaigns that share the work",
    "refresh.worker": "Number of this campaign, from 0",
    "sample.focus": "Where walks may go", "sample.walk": "Kind of walk", "sample.exact": "Judge all neighbours",
    "sample.k": "Links or steps off the topic", "sample.b": "Short walks to judge an account",
    "sample.crude": "Degrees as printed in the paper", "sample.degree": "Most neighbours of any account",
    "sample.walkers": "Number of walks", "sample.burn_in": "First visits that do not count",
    "sample.samples": "Stop after visits on topic", "sample.length": "Steps of a walk",
    "sample.inward": "Find who mentions an account", "sample.mutual": "Links in both directions",
    "sample.consistency": "One-sided links", "sample.weights": "Weights of visits",
    "sample.corrected": "Correct the weights", "sample.trap": "Traps to jump out of",
    "sample.trap_window": "Latest visits to look at", "sample.trap_hosts": "Hosts to jump to",
    "sample.least": "Occurrences that make an account on topic", "sample.patterns": "Names that are on topic",
    "sample.expressions": "Regular expressions for names", "sample.tree": "Decision tree file",
    "sample.labels": "File of labelled accounts", "sample.wider_least": "Occurrences for the wider topic",
    "sample.wider_patterns": "Names on the wider topic",
    "sample.wider_expressions": "Regular expressions for the wider topic",
    "sample.wider_labels": "File of accounts on the wider topic",
    "capture.order": "What is read first", "capture.parts": "Parts of the span",
    "capture.pages": "Pages before a slice is cut", "capture.soonest": "Shortest wait for new posts",
    "capture.latest": "Longest wait for new posts", "capture.live": "Read a stream",
    "capture.segment": "Time between stores of the stream", "capture.stream": "Address of the stream",
    "capture.replace_rules": "Replace other stream rules", "capture.ids": "Only posts of imported ids",
    "capture.archive": "Search the full archive", "capture.authors": "Fetch profiles of authors",
    "capture.counts": "Count the posts first", "capture.search": "Version of the search",
    "capture.full_text": "Search texts",
}  # fmt: skip
"""All others that need other words than their keys."""

HELP = {
    "name": "The campaign and its file are called like this: letters, digits and _ . -",
    "topic.keywords": "Words, phrases, or beginnings of words with a star (modul*). Upper and lower case are the same",
    "topic.languages": "Only posts in these languages count, by their codes: en, de, zh-TW. None: all languages",
    "capture.from": "Posts written then or later are read: a day, such as 2026-03-01, or a time in UTC, such as "
    "2026-03-01T12:00:00Z",
    "capture.until": "Posts written before that are read. None: until the campaign begins",
    "seeds.search": "Search for the keywords, and begin with the authors of what is found",
    "seeds.usernames": "They are read first: names of accounts; in a campaign on the web, addresses of pages",
    "crawl.steps": "The campaign is done after so many accounts. Those that it begins with do not count. A capture is "
    "done after so many slices of time, and a refresh after so many accounts that it has checked",
    "budget.max_money": "The campaign stops before it costs more US dollars, by the platform's prices. They count on a "
    "free server too, such as the mock: there nothing is paid, and the budget ends the campaign all the same",
    "budget.max_requests": "The campaign stops after so many requests, whatever they return",
    "budget.max_time": "The campaign stops so long after its first request: 12h are 12 hours, 7d are 7 days",
    "source.base_url": "Mastodon: the address of your instance, https://INSTANCE. Elsewhere: another server than the "
    "platform's own, such as the mock: http://localhost:8000",
    "source.contact": "An address at which server operators can reach you, such as mailto:me@example.org. It is sent "
    "with each request",
    "source.hosts": "Mastodon: other instances from which accounts are fetched. Web: hosts whose pages are fetched, "
    "such as *.example.org. * is any",
    "seed": "The same number leads to the same random draws",
    "crawl.start": "The estimator that a hybrid one starts with",
    "crawl.nr_d": "How much an account's own score counts beside those of its neighbours, from 0 to 1",
    "source.token_env": "The name of the environment variable that holds the token or the app password. Never type the "
    "token itself",
}
"""What forms say of those in place of the help of the file, which is for people who know it."""
SECTIONS = {
    "crawl": "How accounts are chosen, and how many are read",
    "limits": "Rate limits of your own, and pauses after errors",
    "schedule": "When the campaign runs",
    "compliance": "Checks for posts that the platform no longer shows, which are deleted",
    "fleet": "Workers that send the requests, on this machine or others",
    "notify": "Notices when the campaign is paused, done or stalled, or its platform is down",
}


def name_field(key: str) -> str:
    """Return how a setting is called, by its dotted key."""
    return BASIC.get(key) or MORE.get(key) or key.rpartition(".")[2].replace("_", " ").capitalize()
