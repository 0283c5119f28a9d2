"""The sections of a campaign file that all kinds share. A section checks its own keys and describes each of them."""
