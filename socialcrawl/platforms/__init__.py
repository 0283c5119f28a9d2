"""The platforms, a folder for each, and what they share: contract, registry, HTTP client, readers.

Sources are pure; only `http_client` and the wires touch the network.
"""
