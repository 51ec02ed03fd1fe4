"""`evenhand reproduce`: a paper's recipe, from data check to artifacts."""
