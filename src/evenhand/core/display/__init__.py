"""Values as charts, frames and escaped HTML."""
