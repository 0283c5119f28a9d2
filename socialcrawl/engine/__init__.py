"""The loop of every crawl, its contracts and its values. Pure: it waits, reads and writes only by its contracts."""
