"""Pure functions of evidence that return a Finding; one file per family."""

import lazy_loader as _lazy

_attribute, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """A metric, imported when it is first used; of a misspelled one the closest names."""
    if name in __all__ or name.startswith("_"):
        return _attribute(name)
    from evenhand.core.errors import UnknownName

    raise AttributeError(str(UnknownName("metric", name, __all__)))
