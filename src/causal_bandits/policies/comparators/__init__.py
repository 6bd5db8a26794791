"""The causal bandits that came before, and the plain ones, one file each; see docs/policies.md."""
