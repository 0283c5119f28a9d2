"""`python -m socialcrawl` is the command `socialcrawl`."""

from socialcrawl.cli.main import main

if __name__ == "__main__":
    main()
