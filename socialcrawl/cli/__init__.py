"""The command line. Code here talks to people; it decides nothing about a crawl."""
