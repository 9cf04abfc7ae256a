"""Shared ground of the three packages: errors, files, provenance, engines, statistics, terminal and command line.

Nothing here knows about tasks, queues or training, and nothing here loads the simulator or torch.
"""
