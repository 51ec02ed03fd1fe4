"""Commands that read runs and write pages, files for other tools, tables and figures."""
