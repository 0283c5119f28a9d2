"""Read files that others collected and store them as posts or as the history of a campaign."""
