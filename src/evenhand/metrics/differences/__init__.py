"""How two models, or several seeds, differ in a metric."""
