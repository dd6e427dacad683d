"""The commands that run inside an environment; each module has SUMMARY and main(argv)."""
