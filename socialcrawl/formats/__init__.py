"""File formats that importers, exporters and the laboratory share. Reading is bounded in size and memory."""
