"""What the paper prints: its tables (paper_tables.toml), facts of its text (paper_facts.toml), its toy's settings."""

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
from .toy import TOY, ToySettings

__all__ = [
    "TOY",
    "Complexity",
    "Fact",
    "Hyperparameters",
    "Paper",
    "PrintedDataset",
    "PrintedResult",
    "PrintedStatement",
    "ResultsTable",
    "ToySettings",
    "fact",
    "facts",
    "load_paper",
    "paper",
    "read_toml",
    "statements",
    "using",
]
