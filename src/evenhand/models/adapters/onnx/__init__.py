"""Adapter for ONNX files with a sidecar that says what they take."""
