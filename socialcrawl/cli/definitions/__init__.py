"""The options of each command. Importing these modules is quick: the work is imported when a command runs."""
