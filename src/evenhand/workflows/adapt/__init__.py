"""`evenhand adapt`: heads and fine-tuning on frozen or trained backbones."""
