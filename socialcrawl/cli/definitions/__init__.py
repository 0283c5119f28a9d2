"""The options of each command. Nothing heavy is imported here, so that `--help` is quick."""
