"""Training figures, drawn from stored rows. Nothing here imports torch."""
