"""`python -m socialcrawl` is the command `socialcrawl`."""

from socialcrawl.apps.cli import main

if __name__ == "__main__":
    main()
