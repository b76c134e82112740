-- A hop as the topology knows it, by its ids where none names it (pipeline/reserved.py).
    multiIf(
        n.device != '', n.device,
        here.node = 4294967295, 'locator',
        here.node = 4294967294, 'hop',
        concat('node ', toString(here.node))
    ) AS device,
    multiIf(
        n.device != '', n.interface,
        here.node >= 4294967294, toString(here.port),
        here.port = 4294967295, 'port not told',
        concat('port ', toString(here.port))
    ) AS interface,
    n.stage AS stage,
    n.orientation AS orientation,
    nullIf(n.capacity_bps, 0) AS capacity_bps,
