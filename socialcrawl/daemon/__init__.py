"""The daemon: every campaign of a folder, run on APScheduler until told to stop."""
