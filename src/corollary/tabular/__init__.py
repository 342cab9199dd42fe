"""Tables: reading and writing them, what each column holds and is for, columns as numbers that a model can use."""
