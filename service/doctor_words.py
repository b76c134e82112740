"""What can be typed behind `hopsight doctor`; what it does is in `service/commands/doctor.py`."""

from service.argument import Bus, Json, Store, Topology


def doctor(
    store: Store = None, topology: Topology = None, bus: Bus = None, json: Json = False
) -> None:
    """Look at every stage in order: what was expected, what was seen, what to do."""
    from service.commands import doctor as command

    command.run(store=store, topology=topology, bus=bus, json=json)
