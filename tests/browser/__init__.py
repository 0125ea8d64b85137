"""Tests in a real browser: built pages over http and file://, and JupyterLab."""
