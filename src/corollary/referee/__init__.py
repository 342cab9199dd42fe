"""The referee: claims about fits, worked out again by code that shares nothing with the code that made them.

It imports nothing else of this library (import-linter holds it to that), takes plain arrays and plain descriptions, and
computes in NumPy's extended precision. A claim *stands* where the referee reaches it in its own way, is *refuted* where
it finds something that the claim says cannot be, and is *not decided* otherwise.
"""
