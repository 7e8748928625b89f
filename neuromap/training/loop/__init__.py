"""The training loop: batches, loss, optimisers, checkpoints, accuracies per frame."""
