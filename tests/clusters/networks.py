"""A network for workers, made of namespaces: what they send to the driver goes through a router that can drop it.

    driver, at `driver`   <-->   router   <-->   workers, at `workers`

It needs iproute2 and root. Files are shared, as on a cluster with a shared file system.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType


class NoNetwork(Exception):
    """Namespaces cannot be made here; the message is one sentence that says why."""


class Network:
    """Two namespaces while the context lasts: one for the router, one for workers."""

    def __init__(self) -> None:
        number = os.getpid()
        net = f"198.18.{number % 256}"  # a range set apart for tests of networks
        self.driver, self.workers = f"{net}.1", f"{net}.6"
        self._net, self._outside = net, f"hg{number}"
        self.router, self._inside = f"{self._outside}-router", f"{self._outside}-workers"

    @property
    def command(self) -> tuple[str, ...]:
        """What takes a command into the namespace of workers."""
        return ("ip", "netns", "exec", self._inside)

    def __enter__(self) -> Network:
        if shutil.which("ip") is None:
            raise NoNetwork("network namespaces need the command ip of iproute2, which is not installed")
        if os.geteuid() != 0:
            raise NoNetwork("only root can make network namespaces")
        try:
            self._make()
        except subprocess.CalledProcessError as error:
            self.close()
            raise NoNetwork(f"no network namespace can be made here: {error.stderr.strip()}") from error
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _make(self) -> None:
        net, outside, router, inside = self._net, self._outside, self.router, self._inside
        ip(f"netns add {router}")
        ip(f"netns add {inside}")
        ip(f"link add {outside} type veth peer name near netns {router}")
        ip(f"-n {router} link add far type veth peer name near netns {inside}")
        ip(f"addr add {net}.1/30 dev {outside}")
        ip(f"-n {router} addr add {net}.2/30 dev near")
        ip(f"-n {router} addr add {net}.5/30 dev far")
        ip(f"-n {inside} addr add {net}.6/30 dev near")
        ip(f"link set dev {outside} up")
        for where, name in ((router, "near"), (router, "far"), (inside, "near"), (inside, "lo")):
            ip(f"-n {where} link set dev {name} up")
        ip(f"route add {net}.4/30 via {net}.2")
        ip(f"-n {inside} route add default via {net}.5")
        ip(f"netns exec {router} sh -c", "echo 1 > /proc/sys/net/ipv4/ip_forward")

    def close(self) -> None:
        """Remove all of it; what was never made is not missed."""
        for words in (f"link del {self._outside}", f"netns del {self._inside}", f"netns del {self.router}"):
            subprocess.run(["ip", *words.split()], check=False, capture_output=True)


def block(router: str, port: int) -> None:
    """Let a router drop whatever goes to a port, without a word to the sender."""
    ip(f"-n {router} rule add ipproto tcp dport {port} blackhole")


def unblock(router: str, port: int) -> None:
    """Let it pass again."""
    ip(f"-n {router} rule del ipproto tcp dport {port} blackhole")


def ip(words: str, *more: str) -> None:
    """Run one command of iproute2."""
    subprocess.run(["ip", *words.split(), *more], check=True, capture_output=True, text=True)
