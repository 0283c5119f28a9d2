"""Files of posts that others collected, read into pages: what twarc wrote, and tables with author, created_at, text."""
