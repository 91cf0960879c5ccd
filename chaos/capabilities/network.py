"""Faults made on the way between machines."""

import socket
from pathlib import Path

from fireassay.chaos.capabilities.model import NETWORK, ROOT_REMEDY, Probe, UnableError
from fireassay.chaos.capabilities.tools import NEWNET, NEWUSER, run, tool, unshare

__all__ = ["PROBES"]


def _network_namespace(_: Path) -> str:
    how = "as root"
    try:
        unshare(NEWNET, "network namespace")
    except UnableError:
        unshare(NEWUSER | NEWNET, "network namespace")
        how = "inside a user namespace"
    names = [name for _, name in socket.if_nameindex()]
    if "eth0" in names:
        raise UnableError(f"still sees {names}")
    return f"{how}, sees {', '.join(names) or 'no link'}"


def _veth(_: Path) -> str:
    ip = tool("ip")
    unshare(NEWNET, "network namespace")
    run(ip, "link", "add", "fa0", "type", "veth", "peer", "name", "fa1")
    return "a veth pair was made in a network namespace"


def _netem(_: Path) -> str:
    tc, ip = tool("tc"), tool("ip")
    unshare(NEWNET, "network namespace")
    run(ip, "link", "set", "lo", "up")
    run(tc, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    return "netem was set on a private loopback"


PROBES = (
    Probe(name="network-namespace", attempt=_network_namespace, affects=NETWORK, remedy=ROOT_REMEDY),
    Probe(name="veth", attempt=_veth, affects=("BRG-16",), remedy="Run as root with iproute2 and a kernel with veth."),
    Probe(name="netem", attempt=_netem, affects=(), remedy="None needed: loss, delay and reordering are made by a proxy of our own."),
)
