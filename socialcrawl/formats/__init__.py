"""File formats that importers, exporters and the laboratory share; what is read is bounded in size and memory."""
