"""What the tests of the Mastodon source share: JSON as an instance sends it, and a policy."""

from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule

RULES = (Rule(300, 300.0, "aligned"),)
PAGES = {
    "/api/v1/accounts/lookup": (1, "user"),
    "/api/v1/accounts/:id/statuses": (40, "post"),
    "/api/v1/accounts/:id/statuses?max_id": (40, "post"),
    "/api/v1/accounts/:id/following": (80, "user"),
    "/api/v1/accounts/:id/following?max_id": (80, "user"),
    "/api/v1/timelines/tag/:hashtag": (40, "post"),
    "/api/v1/timelines/tag/:hashtag?max_id": (40, "post"),
    "/api/v2/search": (40, "post"),
    "/api/v2/search?offset": (40, "post"),
}
POLICY = Policy(
    "mastodon",
    "https://home.example",
    "2026-11-21",
    {name: Endpoint(RULES, RULES, page, returns) for name, (page, returns) in PAGES.items()},
)


def account_of(acct="ann", number="11", **more):
    """A profile, as one that says nothing of itself."""
    found = {
        "id": number,
        "username": acct.partition("@")[0],
        "acct": acct,
        "display_name": "Ann",
        "locked": False,
        "created_at": "2020-01-01T00:00:00.000Z",
        "note": "<p>I write</p>",
        "url": f"https://home.example/@{acct}",
        "followers_count": 3,
        "following_count": 2,
        "statuses_count": 1,
        "noindex": False,
        "fields": [],
    }
    return {key: value for key, value in {**found, **more}.items() if value is not None}


def status_of(number="7", account=None, **more):
    """A public status that mentions nobody."""
    account = account or account_of()
    found = {
        "id": number,
        "created_at": "2026-01-02T03:04:05.000Z",
        "in_reply_to_id": None,
        "in_reply_to_account_id": None,
        "spoiler_text": "",
        "visibility": "public",
        "language": "en",
        "uri": f"https://home.example/users/{account['username']}/statuses/{number}",
        "replies_count": 3,
        "reblogs_count": 1,
        "favourites_count": 2,
        "quotes_count": 4,
        "content": "<p>hello</p>",
        "reblog": None,
        "account": account,
        "mentions": [],
        "tags": [],
        "quote": None,
    }
    return {**found, **more}


def mention_of(acct, number):
    return {
        "id": number,
        "username": acct.partition("@")[0],
        "url": f"https://home.example/@{acct}",
        "acct": acct,
    }
