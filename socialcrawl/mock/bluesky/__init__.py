"""The mock's Bluesky: the XRPC methods that readers of public posts use, told from the same file of posts as X's."""
