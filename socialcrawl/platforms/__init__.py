"""What a campaign has to know of its platform: endpoints, names, searches, tokens, and how its parts are made."""
