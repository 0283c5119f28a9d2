"""The work of each command: read the options, call the package, print the result, return the exit code."""
