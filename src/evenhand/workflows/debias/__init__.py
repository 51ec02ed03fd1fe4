"""`evenhand debias`: fits a mitigation on one half and measures it on the other."""
