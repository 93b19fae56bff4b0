"""A product of matrices by the threads of BLAS, and N MB of doubles."""

import numpy as np

megabytes = int(input())
ones = np.ones((600, 600))
product = ones @ ones
held = np.ones((megabytes, 1 << 17))
print(product.trace() == 600 * 600 and held.sum() == megabytes << 17)
