"""Attention blocks, masks, objectives and training loops of the book."""
