"""From a campaign file to running parts: settings, plan, credentials and schedule.

Only `build` imports every part of a campaign. Everything else works before a database is opened or a request is sent.
"""
