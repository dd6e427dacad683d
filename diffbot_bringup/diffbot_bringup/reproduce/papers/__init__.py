"""One module for each paper; each offers ``section(report) -> Section``."""
