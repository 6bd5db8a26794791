"""For people who run experiments: live studies, the HTTP service, and the analysis of logged tables."""
