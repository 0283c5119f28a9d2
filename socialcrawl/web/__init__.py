"""The web application: pages and an HTTP API over the public Python API, served by `socialcrawl ui`.

Nothing here reads a database or a campaign file itself: pages and API call `api.project.open_project` and what that
gives. Every answer is escaped, and has the headers of `security`. No page needs another host.
"""
