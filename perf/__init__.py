"""The scales: floors measured beside every benchmark, so that each figure is a ratio from one run."""
