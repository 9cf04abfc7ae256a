"""The paper's tables from stored runs; imports no torch. `comparisons.toml` says which runs stand behind each."""
