"""Questions to the tables of a campaign. Modules here read and change nothing."""
