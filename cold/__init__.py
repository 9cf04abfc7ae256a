"""The benchmark trainer: COLD and the baselines on real data (needs torch)."""
