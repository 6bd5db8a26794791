"""What both wings build on: problems, data, graphs, tests, discovery, estimators and policies."""
