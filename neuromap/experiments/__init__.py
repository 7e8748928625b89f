"""Experiments: networks trained under several rollout patterns, repeated, measured on test images, drawn."""
