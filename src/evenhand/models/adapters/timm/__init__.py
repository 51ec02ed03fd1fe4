"""Adapter for classifiers and backbones of timm."""
