"""Bluesky through the XRPC methods of the AT Protocol."""
