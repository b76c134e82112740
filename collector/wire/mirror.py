"""Configured mirrors: tunnels that by port, VNI, key or protocol only carry copies of frames.

    GRE with a key | C R K S 4 | strict 1 | recursion 3 | flags 5 | version 3 | protocol 16 |
                   | C: checksum 16, offset 16 | key 32 | S: sequence 32 |

The other pictures are those of the tunnels themselves. The VNI or the key is the mirror's session;
what the mirror's own transport carried is forgotten.
"""

from collections.abc import Iterator
from dataclasses import replace

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Check, Header
from collector.wire.tunnel import CHECKSUM, GENEVE, GRE, KEY, SEQUENCE, VXLAN, VXLAN_GPE

SESSION = "mirror_session"


def mirrored(tunnel: Header, name: str, *checks: Check) -> Header:
    """A tunnel as a mirror's envelope: its own telemetry options are not looked at."""
    fields = tuple(
        replace(each, column=SESSION) if each.name == "vni" else each for each in tunnel.fields
    )
    return replace(
        tunnel,
        name=name,
        fields=fields,
        checks=(*tunnel.checks, *checks),
        doc=f"{tunnel.doc.rstrip('.')}, as a mirror's envelope.",
        envelope="mirror",
        layer=tunnel.layer or tunnel.name,
        options=None,
        otherwise=None,
    )


def keyed(key: int, *, checksum: bool) -> Header:
    """GRE with this key, with a checksum before it or not."""
    words = (Field("checksum", 16), Field("offset", 16)) if checksum else ()
    present = KEY | (CHECKSUM if checksum else 0)
    own = mirrored(
        GRE,
        f"gre_key_{key:08x}{'_sum' if checksum else ''}",
        Check("present", present, present | SEQUENCE, None),
        Check("key", key, key, None),
    )
    return replace(own, fields=(*own.fields, *words, Field("key", 32, "Key.", SESSION)))


def gre(settings: CollectorSettings) -> Iterator[Header]:
    """Every GRE tunnel that is a mirror."""
    for key in settings.mirror_gre_keys:
        yield keyed(key, checksum=False)
        yield keyed(key, checksum=True)
    for protocol in settings.mirror_gre_protocols:
        check = Check("protocol", protocol, protocol, None)
        yield mirrored(GRE, f"gre_mirror_{protocol:04x}", check)


def networks(tunnel: Header, settings: CollectorSettings) -> Iterator[Header]:
    """A tunnel at each VNI that is a mirror."""
    for vni in settings.mirror_vnis:
        yield mirrored(tunnel, f"{tunnel.name}_vni_{vni:06x}", Check("vni", vni, vni, None))


def chains(settings: CollectorSettings) -> dict[str, list[Header]]:
    """Mirrors that are tried, in turn, before each tunnel is taken for an overlay."""
    tried = {"gre": list(gre(settings))}
    tried |= {each.name: list(networks(each, settings)) for each in (VXLAN, VXLAN_GPE, GENEVE)}
    for overlay, mirrors in tried.items():
        following = [*(each.name for each in mirrors[1:]), overlay]
        tried[overlay] = (
            [replace(each, otherwise=name) for each, name in zip(mirrors, following, strict=True)]
            if mirrors
            else []
        )
    return tried


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every mirror that these settings name."""
    tried = [each for mirrors in chains(settings).values() for each in mirrors]
    if settings.mirror_vxlan_udp_ports:
        tried.append(mirrored(VXLAN, "vxlan_mirror"))
    if settings.mirror_geneve_udp_ports:
        tried.append(mirrored(GENEVE, "geneve_mirror"))
    return tuple(tried)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Ports and the protocol at which mirrors are tried first."""
    first = {name: mirrors[0].name for name, mirrors in chains(settings).items() if mirrors}
    ports = (
        (first.get("vxlan"), settings.vxlan_udp_ports),
        (first.get("vxlan_gpe"), settings.vxlan_gpe_udp_ports),
        (first.get("geneve"), settings.geneve_udp_ports),
        ("vxlan_mirror", settings.mirror_vxlan_udp_ports),
        ("geneve_mirror", settings.mirror_geneve_udp_ports),
    )
    return {
        "ip_protocol": {47: first["gre"]} if "gre" in first else {},
        "udp_port": {port: name for name, numbers in ports if name for port in numbers},
    }
