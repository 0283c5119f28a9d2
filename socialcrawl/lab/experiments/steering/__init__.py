"""Which estimator steers best: all of them on all given graphs, from the same sets of seeds (`lab steering`).

standings.py         the numbers: measures of a curve, shares of the best, ranks, paired comparisons
board.py             the leaderboard as values, and as lines in the terminal
leaderboard_page.py  the leaderboard as a page
runs.py              the replays of the command, and the files that it writes
"""
