"""`evenhand generate`: makes images, and reviews them."""
