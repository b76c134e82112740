-- A hop as the topology in force at the end of the window has it, else as its verdicts do.
    if(ifNull(n.device, '') = '', w.device, n.device) AS device,
    if(ifNull(n.device, '') = '', w.interface, n.interface) AS interface,
    if(ifNull(n.device, '') = '', w.stage, n.stage) AS stage,
    if(ifNull(n.device, '') = '', w.orientation, n.orientation) AS orientation,
    if(ifNull(n.device, '') = '', w.capacity_bps, n.capacity_bps) AS capacity_bps
