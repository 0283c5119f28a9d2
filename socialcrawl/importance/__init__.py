"""Page importance: who matters in a graph by its links. Pure arithmetic over rows; no crawl, no store."""
