"""Diagnosis and remedies for networks that do not fit."""
