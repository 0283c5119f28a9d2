"""Exports: the tables of a campaign as files for others, with a sheet that says how they came about."""
