"""The kinds of campaigns, a folder for each, and their contract and registry.

The crawls themselves are pure. Each kind's `section`, `kind`, `make`, `report` and `datasheet` connect it to the rest.
"""
