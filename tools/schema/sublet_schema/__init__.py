"""Builds the schema table of sublet from a pinned Kubernetes release. See ../README.md."""
