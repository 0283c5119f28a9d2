"""Posts that came from a file, into the tables: as posts, or as the history that a campaign goes on from."""
