"""`python -m cold` is `cold`; torchrun needs it."""

from .cli import main

if __name__ == "__main__":
    main()
