"""Thin seams into other people's trainers. Importing this package loads none of them."""
