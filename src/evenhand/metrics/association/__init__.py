"""Association tests of embeddings: effect sizes, matching and nearest words."""
