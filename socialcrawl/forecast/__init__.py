"""How many requests, how much time and what cost a campaign needs, and intervals of estimates. Pure."""
