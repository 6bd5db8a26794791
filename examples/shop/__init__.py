"""A shop, its visitors and their webhooks: a study from the first decision to the final report, and the truth."""
