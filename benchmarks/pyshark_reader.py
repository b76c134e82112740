"""Reads a capture through pyshark and touches the fields that the benchmark compares."""

import sys

import pyshark

FIELDS = {
    "ip": ("src", "dst", "proto", "dsfield_dscp", "dsfield_ecn", "ttl", "id"),
    "tcp": ("srcport", "dstport", "seq_raw", "ack_raw", "flags", "window_size_value"),
}


def main() -> None:
    """Touch every packet."""
    touched = 0
    with pyshark.FileCapture(sys.argv[1], keep_packets=False) as capture:
        for packet in capture:
            for layer, names in FIELDS.items():
                fields = getattr(packet, layer)
                touched += sum(getattr(fields, name) is not None for name in names)
    print(touched)


if __name__ == "__main__":
    main()
