"""What the paper prints: its numbers (paper_tables.toml) and short facts of its text (paper_facts.toml)."""

from .reader import (
    Complexity,
    Fact,
    Hyperparameters,
    Paper,
    PrintedDataset,
    PrintedResult,
    PrintedStatement,
    ResultsTable,
    fact,
    facts,
    load_paper,
    paper,
    read_toml,
    statements,
    using,
)

__all__ = [
    "Complexity",
    "Fact",
    "Hyperparameters",
    "Paper",
    "PrintedDataset",
    "PrintedResult",
    "PrintedStatement",
    "ResultsTable",
    "fact",
    "facts",
    "load_paper",
    "paper",
    "read_toml",
    "statements",
    "using",
]
