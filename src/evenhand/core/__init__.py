"""Data and declarations: findings, cards, verdicts, requests, capabilities, errors. Imports no other room."""
