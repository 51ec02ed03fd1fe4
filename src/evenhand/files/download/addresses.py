"""Which addresses of the internet may be asked: public ones, each checked after its name was looked up."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # IPv4 addresses as a translating gateway writes them
_PORTS = {"http": 80, "https": 443}


class Failed(Exception):  # noqa: N818 - one address that gave nothing; the others are still asked
    """An address from which nothing usable came; ``reason`` is one short phrase for all with this trouble.

    ``temporary``: asking again may help, after ``wait`` seconds if the server asks for them.
    """

    def __init__(self, reason: str, detail: str = "", *, temporary: bool = False, wait: float = 0.0) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail, self.temporary, self.wait = reason, detail, temporary, wait


@dataclass(frozen=True)
class Host:
    """Where a URL leads: what is to be looked up before it is asked."""

    scheme: str
    host: str
    port: int


def place_of(scheme: str, host: str, port: int | None, userinfo: bytes) -> Host:
    """Check what a URL says before anything is looked up."""
    if scheme not in _PORTS:
        raise Failed("not an http or https address", scheme or "no scheme")
    if not host:
        raise Failed("not an http or https address", "no host")
    if userinfo:
        raise Failed("address with a user name", "it would send a password")
    return Host(scheme, host, port or _PORTS[scheme])


def is_public(address: Address) -> bool:
    """Whether an address is of the public internet: not private, loopback, link-local, reserved or multicast.

    IPv6 addresses that stand for an IPv4 address (mapped, 6to4, Teredo, NAT64) are as public as that one.
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return all(map(is_public, inner))
        if address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: ipaddress.IPv6Address) -> Sequence[ipaddress.IPv4Address] | None:
    """The IPv4 addresses that an IPv6 address stands for, if it does."""
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if address in _NAT64:
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    return None


async def addresses_of(host: Host, allowed: Sequence[str] = ()) -> list[str]:
    """Addresses of a host that may be asked, IPv4 first: public ones, and those in the networks ``allowed``.

    The request must go to one of these, not to the name: looked up again, it could lead elsewhere.
    """
    try:
        records = await asyncio.get_running_loop().getaddrinfo(host.host, host.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise Failed("no such host", f"{host.host}: {problem}", temporary=_may_pass(problem)) from problem
    addresses = [ipaddress.ip_address(str(record[4][0]).partition("%")[0]) for record in records]
    networks = [ipaddress.ip_network(network) for network in allowed]
    permitted = [
        address for address in dict.fromkeys(addresses) if is_public(address) or _within(address, networks)
    ]
    if not permitted:
        raise Failed("private address", f"{host.host} leads to {addresses[0] if addresses else 'nothing'}")
    return [str(address) for address in sorted(permitted, key=lambda address: address.version)]


def _within(address: Address, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    return any(address in network for network in networks)


def _may_pass(problem: Exception) -> bool:
    """Whether looking a name up failed for now: the resolver was not reached."""
    return isinstance(problem, socket.gaierror) and problem.errno == socket.EAI_AGAIN
