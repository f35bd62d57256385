"""A run in the browser: data of logs, server, one file; and frames as JSON for other viewers.

The page's sources are in `explorer/` beside `src/`, its bundle in `page_files`.
"""
