"""The ledger learns what was asked (digest), what came, and which resources were billed on a UTC day."""

import sqlalchemy as sa
from alembic import op

from socialcrawl.storage.schema.kept import put_back, put_rows_back, set_aside, set_table_aside

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ADDED = ["digest", "new_posts", "new_users", "post_ids", "nodes"]
WHOLE = (
    "id", "campaign", "n", "part", "endpoint", "params", "credential", "items", "most", "sent_at", "arrived_at", "kind",
    "status", "posts", "cost", "cursor", "headers", "answer", *ADDED,
)  # fmt: skip
CHARGE = ("day", "credential", "kind", "resource")
KIND = "ok, missing, window, day, month, money, backoff, refused"


def upgrade() -> None:
    # Columns that may be NULL are added without touching the rows: a ledger of a million requests takes no time.
    op.add_column(
        "request", sa.Column("digest", sa.Text(), nullable=True, comment="hash of platform, endpoint, params")
    )
    op.add_column(
        "request",
        sa.Column("new_posts", sa.Integer(), nullable=True, comment="posts billed: those new to the UTC day"),
    )
    op.add_column(
        "request",
        sa.Column("new_users", sa.Integer(), nullable=True, comment="users billed: those new to the UTC day"),
    )
    op.add_column(
        "request",
        sa.Column("post_ids", sa.Text(), nullable=True, comment="JSON list of the ids of the posts returned, in order"),
    )
    op.add_column(
        "request",
        sa.Column(
            "nodes",
            sa.Text(),
            nullable=True,
            comment="JSON: [place of a post, account.node mentioned, ...], nodes answered about, [node, why missing]",
        ),
    )
    op.create_index(op.f("ix_request_digest"), "request", ["digest"], unique=False)
    op.create_table(
        "charge",
        sa.Column("day", sa.String(length=10), nullable=False, comment="UTC day of the server, as 2026-01-31"),
        sa.Column("credential", sa.Text(), nullable=False, comment="name of the token, never the token"),
        sa.Column("kind", sa.String(length=4), nullable=False, comment="post or user"),
        sa.Column("resource", sa.Text(), nullable=False, comment="the platform's own id of the post or user"),
        sa.PrimaryKeyConstraint("day", "credential", "kind", "resource", name=op.f("pk_charge")),
        comment="resources billed on a day: a day bills each once; rows older than yesterday are removed",
        sqlite_with_rowid=False,
    )
    _say_kinds(f"{KIND} or broken", f"{KIND}, invalid, broken, lost or held")
    put_back("request", "id", ADDED)
    put_rows_back("request", "held", WHOLE)
    put_rows_back("charge", "charge", CHARGE)


def downgrade() -> None:
    op.execute("create table kept_held as select * from request where kind = 'held'")
    op.execute("delete from request where kind = 'held'")  # the older program would count them as requests
    _say_kinds(f"{KIND}, invalid, broken, lost or held", f"{KIND} or broken")
    set_table_aside("charge")
    # A row may have lost its digest, and some others of these, when somebody was forgotten.
    set_aside("request", "id", ADDED, " or ".join(f"{name} is not null" for name in ADDED))
    op.drop_index(op.f("ix_request_digest"), table_name="request")
    for name in reversed(ADDED):
        op.drop_column("request", name)


def _say_kinds(before: str, after: str) -> None:
    if op.get_bind().dialect.supports_comments:  # SQLite keeps none, and would copy the table for it
        op.alter_column("request", "kind", existing_type=sa.String(8), comment=after, existing_comment=before)
