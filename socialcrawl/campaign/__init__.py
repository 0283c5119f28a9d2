"""What a campaign file means: settings, plan, credentials, schedule, and the one place that joins the parts."""
