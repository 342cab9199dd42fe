"""Why a model predicts what it does: each prediction shared out among the columns of the table."""
