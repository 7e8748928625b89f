"""What a row of the report shows, counted and measured: predicted, measured, observed and verified."""
