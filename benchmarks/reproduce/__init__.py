"""Every figure and table of the papers, and of our own comparison, in one folder: `make reproduce`."""
