"""The commands that run inside an environment; each module has main(argv)."""
