"""Tables, other distributions and structures from rows."""
