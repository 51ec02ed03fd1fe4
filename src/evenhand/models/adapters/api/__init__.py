"""Adapter for servers that speak the OpenAI protocol."""
