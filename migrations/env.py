"""Alembic's entry: it uses the connection that socialcrawl hands over."""

from alembic import context

from socialcrawl.storage.schema.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
