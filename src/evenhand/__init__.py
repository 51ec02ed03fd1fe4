"""evenhand audits vision and vision-language models for bias."""
