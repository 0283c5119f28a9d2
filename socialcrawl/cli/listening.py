"""A socket that listens on an address that a person names."""

import socket

from socialcrawl.errors import SettingsError


def listen(host: str, port: int, option: str = "") -> socket.socket:
    """Return a socket that listens on a host and port.

    Args:
        host: a name or address of this machine.
        port: 0 takes a free one.
        option: the option that has both; "": they are --host and --port.

    Raises:
        SettingsError: they cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SettingsError(f"{option or '--host'} {host} is no address of this machine ({error.strerror}).") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        raise SettingsError(
            f"Port {port} of {host} cannot be used ({error.strerror}): choose another with {option or '--port'}."
        ) from error
    return made
