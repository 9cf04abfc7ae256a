"""Malformed calls of both programs, bad arguments of both packages, and damaged or hostile files of every format.

Everything is drawn from a seed, and every budget is a count: of cases, of function calls per case, of bytes. The short
form is part of the tests; the long one is `python -m tests.fuzz --calls 100000 --seed 1`.

values     what is drawn: texts, numbers and objects that nobody expects
sandbox    where a case runs: a folder of its own, no network, no processes, little memory, a limited number of calls
programs   commands with malformed options, from the programs' own tables of options
arguments  functions with bad arguments
files      files of every format that is read back, damaged
"""
