"""What Python programs use: `import socialcrawl` gives these names (see `socialcrawl/__init__.py`).

Nothing here decides or stores anything: each class calls what the commands call. No other module of the package imports
this folder.
"""
