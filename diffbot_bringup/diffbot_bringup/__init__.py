"""Start-up of the suite: the `diffbot` command, launch runner, plots and reports."""
