"""What can go wrong with a model file."""

from __future__ import annotations

from typing import Any


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file cannot be read as a model; the message gives the reason."""


class ModelVersionWarning(UserWarning):
    """The file was written with another scikit-learn than the one that reads it."""


def short(value: Any) -> str:
    """A value as an error message shows it: on one line, without control characters, never long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
