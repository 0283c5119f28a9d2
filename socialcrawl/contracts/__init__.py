"""The names that packages which add to socialcrawl import: a module for each kind of plug-in, and nothing else in it.

They are part of the public interface; docs/development/plugins.md says what is promised. Other modules of socialcrawl
may change from version to version.
"""
