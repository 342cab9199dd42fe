"""Every compiled kernel of the library. Imports numpy, math and numba only; validates nothing; calls no BLAS."""
