"""Store the content of imported files, as posts or as the history of a campaign."""
