"""Fitted changes of embeddings: fit on one half of the items, measured on the other."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
