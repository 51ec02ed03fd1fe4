"""Any labelled images: a classifier, a dual encoder or a model that answers in words, audited by group."""
