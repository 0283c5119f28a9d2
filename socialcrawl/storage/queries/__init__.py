"""Questions to a campaign's tables. They read; they change nothing."""
