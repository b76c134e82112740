"""How a frame can end: exactly one status each."""

STATUS = (
    ("decoded", "Every header was read."),
    ("truncated", "The captured octets end inside a header."),
    ("unknown_link_type", "No table for this capture's link layer."),
    ("unknown_ethertype", "Not IP: ARP, LLDP, spanning tree and the like."),
    ("bad_version", "An IP header with another version than announced."),
    ("bad_length", "A length field that its header cannot have."),
    ("fragment", "Not the first fragment: it holds no transport header."),
    ("too_many_layers", "More headers in a row than any sane encapsulation has."),
    ("bad_option", "An option that overruns its header."),
    ("too_many_hops", "A stack of more hops than are kept; the first ones are."),
    ("int_unsupported_type", "An INT shim that is not INT-MD."),
    ("int_unknown_version", "An INT header of another version than 2."),
    ("int_bad_length", "INT lengths that contradict each other."),
    ("aecn_bad_length", "An AECN option shorter than its type bits demand."),
    ("report_unknown_version", "A telemetry report of a version that is not known."),
    ("report_bad_length", "Telemetry report lengths that contradict each other."),
    ("ioam_bad_length", "IOAM lengths that contradict each other."),
    ("ifa_bad_length", "IFA lengths that contradict each other, or an unknown name space."),
    ("hpcc_bad_count", "A hop count of the HPCC simulator that no path has."),
    ("sflow_bad_length", "sFlow lengths that contradict each other."),
    ("encrypted", "What follows is encrypted; addresses and security parameters index are kept."),
    ("too_many_rows", "More packets in one frame than are read; the first ones are."),
)
"""How a frame can end: frames seen = the sum over these. The position is the code."""
CODE = {name: code for code, (name, _) in enumerate(STATUS)}
