"""GeoDE: everyday objects photographed in six regions of the world."""
