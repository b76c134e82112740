"""Check: whether settings leave open what the frames of a run need."""

from collections.abc import Iterator

from collector import CollectorSettings
from replay.carriage import CARRIAGES, TUNNELS
from replay.fabric import Run
from replay.identity import HPCC_INT_PORT, ROCE_PORT
from replay.state import HPCC_INT, ROCE
from replay.transport_content import GIGABIT, HPCC_RATES
from replay.world import TELEMETRY

PORTS = {ROCE: ("roce_udp_ports", ROCE_PORT), HPCC_INT: ("hpcc_udp_ports", HPCC_INT_PORT)}
TUNNEL_PORTS = {"vxlan": "vxlan_udp_ports", "geneve": "geneve_udp_ports"}
UEC_LM = 1 << 15
"""Locators of the UEC layout have 15 bits."""


def check(run: Run, settings: CollectorSettings) -> None:
    """ValueError names the setting without which the flows' telemetry has no place on the wire."""
    if settings.int_dscp is None:
        raise ValueError("int_dscp must name a value: it announces INT over TCP")
    for wrong in (*lacking(run, settings), *unlike(run, settings)):
        raise ValueError(wrong)


def lacking(run: Run, settings: CollectorSettings) -> Iterator[str]:
    """Settings that name no value."""
    for form in sorted({int(form) for form in run.flows["form"]}):
        for name in CARRIAGES[form].needs:
            if not getattr(settings, name):
                yield f"{name} must name a value: {TELEMETRY[form]} is sent there"
        name, port = PORTS.get(form, ("", 0))
        if name and port not in getattr(settings, name):
            yield f"{name} must hold {port}: {TELEMETRY[form]} is sent there"
    for flow in run.flows:
        tunnel, carriage = TUNNELS[flow["tunnel"]], CARRIAGES[int(flow["form"])]
        if tunnel is None:
            continue
        if tunnel.port and tunnel.port not in getattr(settings, TUNNEL_PORTS[tunnel.table]):
            yield f"{TUNNEL_PORTS[tunnel.table]} must hold {tunnel.port}: it is sent there"
        if carriage.announced and not tunnel.port and settings.int_gre_protocol is None:
            yield "int_gre_protocol must name a value: it announces INT in GRE"


def unlike(run: Run, settings: CollectorSettings) -> Iterator[str]:
    """What no field of a format holds."""
    forms = {int(form) for form in run.flows["form"]}
    rates = {int(bps) for bps in run.ports["bps"]}
    odd = rates - {gbps * GIGABIT for gbps in HPCC_RATES}
    if HPCC_INT in forms and odd:
        yield f"hpcc_int: the simulator has no code for {min(odd)} bit/s"
    if settings.csig_layout == "uec" and run.ports["lm"].max(initial=0) >= UEC_LM:
        yield "csig_layout: a locator of this fabric has more than 15 bits"
    for flow in run.flows:
        tunnel, carriage = TUNNELS[flow["tunnel"]], CARRIAGES[int(flow["form"])]
        if tunnel and carriage.around and not tunnel.around:
            yield f"overlay: {TELEMETRY[int(flow['form'])]} has no place in {tunnel.table}"
        if tunnel and not tunnel.port and carriage.announced and carriage.stack[0] != "int_shim":
            yield f"overlay: {TELEMETRY[int(flow['form'])]} has no place in {tunnel.table}"
