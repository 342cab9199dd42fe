"""The scripts are run by the tests, and are none themselves."""

collect_ignore = ["scripts"]
