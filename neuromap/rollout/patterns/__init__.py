"""Rollout patterns: validity, tableau, windows, Theorem 1, Lemma 1, counting, most sequential, behaviour classes."""
