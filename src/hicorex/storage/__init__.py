"""Files that hicorex writes: models, checkpoints, results, each whole or not at all."""
