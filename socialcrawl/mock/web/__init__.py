"""A file of pages as a web site.

html      a page with its links at the places where their targets' titles stand
service   the site, from a file of pages as the laboratory reads it: pages, robots.txt, what moved, what is gone
"""
