"""Bluesky by the XRPC of the AT Protocol: talks, wire, sign-in, parsing."""
