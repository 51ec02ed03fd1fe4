"""Who comes first in rankings, and precision among neighbours."""
