"""A platform for socialcrawl: a forum with pages of a member's posts and a search, both in JSON.

GET /members/NAME?page=1      {"posts": [{"id", "by", "text", "at"}, ...], "next": 2 or null}
GET /search?q=WORD&page=1     likewise
GET .../members/nobody        404
429 with Retry-After          more than 100 requests in a minute
"""

from json_forum.platform import ForumPlatform

__all__ = ["forum"]

forum = ForumPlatform()
