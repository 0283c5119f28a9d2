"""`python -m socialcrawl` is the command `socialcrawl`."""

import sys

if __name__ == "__main__":
    try:
        from socialcrawl.cli.main import main
    except ModuleNotFoundError as error:
        if (error.name or "socialcrawl").startswith("socialcrawl"):
            raise
        sys.exit(
            f"{error.name} is not installed for {sys.executable}: use the Python of the environment that has "
            "socialcrawl, as .venv/bin/python in a clone, or install socialcrawl there with pip"
        )
    main()
