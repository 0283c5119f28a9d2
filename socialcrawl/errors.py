"""What can go wrong, and what a person can do about it.

    SocialcrawlError
      - SettingsError     a campaign file, option or environment variable is not usable
      - PostsFileError    a file of posts cannot be read
      - StoreError        the database cannot be used (newer schema, full disk, locked)
          - HeldError     another process runs the campaign or uses the token
      - SourceError       the platform refuses the work (token, access, vocabulary)
      - PluginError       what another package adds breaks its contract
      - MockError         the mock server cannot start (port in use)

Every message says what is wrong and what to do next; the command line prints it without a traceback.
One bad account is not an error: it is an `Outcome` whose `missing` names the reason.
"""


class SocialcrawlError(Exception):
    """The root of all failures that a person can fix; `str(error)` is one or two plain sentences."""


class SettingsError(SocialcrawlError):
    """A setting is missing, unknown or out of range; the message names file, key and remedy."""


class PostsFileError(SocialcrawlError):
    """A file of posts is missing, unreadable or lacks a column; the message names file and column."""


class StoreError(SocialcrawlError):
    """The database cannot be opened or written; what was committed before is safe."""


class HeldError(StoreError):
    """Another process runs the campaign, or uses the token: it has to let go first."""


class SourceError(SocialcrawlError):
    """The platform refuses to answer in a way that asking again cannot fix."""


class PluginError(SocialcrawlError):
    """What another package adds failed or broke its contract; the message names it, the method and the cause."""


class MockError(SocialcrawlError):
    """The mock API server cannot start or has died."""
