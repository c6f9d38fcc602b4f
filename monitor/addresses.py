"""Which addresses a name may lead to: none that belongs to the machine's own cloud, private ones only when allowed."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_NEVER = tuple(ip_network(one) for one in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "100.100.100.200/32"))
"""Link-local networks, and where clouds answer questions about the machine and its keys."""

_NAT64 = ip_network("64:ff9b::/96")


def refusal(address: str, *, allow_private: bool) -> str | None:
    """Say why a connection to the IP `address` is refused; None when it may be made.

    An IPv4 address in the clothes of an IPv6 one is judged as what it is.
    """
    found = _plain(ip_address(address.partition("%")[0]))
    if any(found in network for network in _NEVER if network.version == found.version):
        return "a link-local or metadata address, which is always refused"
    if found.is_unspecified or found.is_multicast or (found.is_reserved and not found.is_loopback):
        return "no address of a machine"
    if not found.is_global and not allow_private:
        return "a private address; set allow_private: true if it is meant"
    return None


def written_refusal(host: str, *, allow_private: bool) -> str | None:
    """`refusal` of a host that is an address as it stands; None for a name, which is looked up when it is asked."""
    try:
        return refusal(host, allow_private=allow_private)
    except ValueError:
        return None


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        return inner or address
    return address
