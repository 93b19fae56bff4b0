"""Builds the images that the docker backend's slots run in; see `sandbox_images/build --help`."""
