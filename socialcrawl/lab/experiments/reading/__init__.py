"""Which way of reading accounts finds more for the money: whole campaigns on a mock of X (`lab reading`).

crawls.py   one campaign on a mock server, on a virtual clock
runs.py     all campaigns of the command, their tables and the figure
"""
