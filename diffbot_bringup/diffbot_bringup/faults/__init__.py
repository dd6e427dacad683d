"""The fault table: what the suite promises when something goes wrong, each promise attacked."""
