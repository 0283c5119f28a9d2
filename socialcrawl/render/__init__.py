"""What people read: tables, charts, pictures and texts of reports. Values in, renderables out; it decides nothing."""
