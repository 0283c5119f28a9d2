"""Prove from the database alone that a campaign stored what it decided and found. No request is sent."""
