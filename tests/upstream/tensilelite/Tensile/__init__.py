# SPDX-License-Identifier: MIT
# A stand-in for the user's TensileLite: the entry points that build/upstream/worker.py uses, and a generator of kernels that do nothing.
__version__ = "0.1"
