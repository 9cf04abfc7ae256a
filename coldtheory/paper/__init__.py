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


def beyond_the_paper(label: str) -> bool:
    """Whether a label is that of a theorem that the paper lacks; such labels begin with `new:`.

    >>> beyond_the_paper("new:forgetting"), beyond_the_paper("thm:queue_stability")
    (True, False)
    """
    return label.startswith("new:")


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
    "beyond_the_paper",
    "fact",
    "facts",
    "load_paper",
    "paper",
    "read_toml",
    "statements",
    "using",
]
