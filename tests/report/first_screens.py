"""Runs for tests of a report's first screen: tickets of three offices, of which one is answered otherwise."""

from __future__ import annotations

import polars as pl

import evenhand as eh

CLASSES = ("account_locked", "fraud_report", "refund")
OFFICES = {"Lagos": 100, "Munich": 200, "Osaka": 150}


def tickets(labels=CLASSES, offices=OFFICES, planted=33):
    """Tickets of each class by office; the first office's first class is called the second one more often."""
    rows = []
    for truth in labels:
        for place, (office, n) in enumerate(offices.items()):
            others = [label for label in labels if label != truth]
            for index in range(n):
                is_planted = planted and truth == labels[0] and place == 0 and index < planted
                wrong = labels[1] if is_planted else others[index % 2] if index % 12 == 5 else None
                rows.append(
                    (f"t{len(rows):05d}", office, "web" if index % 2 else "app", truth, wrong or truth)
                )
    names = ["ticket_id", "office", "channel", "true_intent", "model_intent"]
    return pl.DataFrame(rows, schema=names, orient="row")


def audited(frame, by=("office",), **more):
    """Their audit."""
    return eh.audit(
        frame, truth="true_intent", prediction="model_intent", by=list(by), noun="tickets", **more
    )
