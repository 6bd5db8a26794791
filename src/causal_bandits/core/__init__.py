"""What both wings stand on: problems, data, graphs, tests, discovery, estimators and policies."""
