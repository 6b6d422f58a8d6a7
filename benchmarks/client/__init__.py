"""What a client costs: routes of many topics kept fresh, and look-ups in its tables."""
