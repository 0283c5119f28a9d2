"""Write a campaign as files for others, with a datasheet. Exports read the database and change nothing."""
