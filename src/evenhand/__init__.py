"""evenhand audits vision and vision-language models for bias.

    import evenhand as eh
    preds = eh.Predictions.read("preds.parquet", truth="label", prediction="pred")
    run = eh.audit(preds, by=["gender", ("gender", "race")])
    run.report("report.html")

Importing this loads nothing heavy; every name is imported when it is first used.
"""

import lazy_loader as _lazy

from evenhand.core import presenter as _presenter

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)


def _show() -> "_presenter.Presenter":
    """What shows findings; ``core`` imports no presentation."""
    from evenhand.display import results

    return results


_presenter.load = _show
