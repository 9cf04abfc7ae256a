"""Malformed calls of both programs, bad arguments of both packages, and damaged or hostile files of every format.

Everything is drawn from a seed, and every budget is a count: of cases, of function calls per case, of bytes.
`python -m tests.fuzz --calls 3000 --seed 0` runs it; the long form takes 100,000 calls.

values     what is drawn: texts, numbers and objects that nobody expects
sandbox    where a case runs: a folder of its own, no network, no processes, little memory, a limited number of calls
programs   commands with malformed options, from the programs' own tables of options
arguments  functions with bad arguments
files      files of every format that is read back, damaged
"""
