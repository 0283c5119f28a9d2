"""The XRPC methods of Bluesky that readers of public posts use."""
