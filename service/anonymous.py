"""Loads between prefixes as another autonomous system may see them (draft-miao-ccwg-hpcc-03, 9.1).

What leaves: ratios, and prefixes whose addresses Crypto-PAn has changed so that two that share a
prefix still do. What stays: names, capacities, rates, delays, bytes, how many flows there are.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address, ip_network
from typing import Any

import polars as pl
from yacryptopan import CryptoPAn

from pipeline import NETWORK

RATIOS = (
    "u_p50", "u_p90", "u_p99", "u_max", "utilization_p50", "utilization_p90", "utilization_p99",
    "utilization_max", "headroom_ratio", "completeness",
)  # fmt: skip
SOURCES = ("u_source", "utilization_source")
SHARES = ("share", "affected_share")
KNOWN = ("captured", "completeness")
"""Shares of the whole time."""
DIGITS = 3
"""Significant digits of a ratio: loads are known to 4 % anyway."""
REMEMBERED = 1 << 16


class Anonymiser:
    """Prefixes under one key; the key cannot be had back from it by printing."""

    def __init__(self, key: bytes) -> None:
        """`key` has 32 octets."""
        cipher = CryptoPAn(key)
        self._address = lru_cache(REMEMBERED)(cipher.anonymize)
        self._digest = blake2b(digest_size=4, key=key, person=b"network")

    def __repr__(self) -> str:
        return "Anonymiser(key not shown)"

    def prefix(self, text: str) -> str:
        """A prefix of the same length, in which whatever shared bits before still shares them."""
        network = ip_network(text)
        changed = ip_address(self._address(str(network.network_address)))
        return str(ip_network((changed, network.prefixlen), strict=False))

    def network(self, *names: str | None) -> int:
        """A number for an address space that tells neither its name nor its place among others."""
        digest = self._digest.copy()
        digest.update(json.dumps(names).encode())
        return int.from_bytes(digest.digest(), "big")

    def prefixes(self, texts: Iterable[str]) -> dict[str, str]:
        """Each different prefix with what it becomes."""
        return {text: self.prefix(text) for text in dict.fromkeys(texts)}


def anonymised(rows: pl.DataFrame, anonymiser: Anonymiser) -> pl.DataFrame:
    """Rows of the question `te_paths` by prefix without all that is not relative.

    `network` tells address spaces apart, by numbers that mean nothing outside; `share` is a pair's
    share of all bytes of its cell of time.
    """
    spaces = rows.select(NETWORK).unique(maintain_order=True)
    numbers = [anonymiser.network(*names) for names in spaces.iter_rows()]
    rows = rows.join(
        spaces.with_columns(pl.Series("network", numbers, pl.UInt32)), on=NETWORK, nulls_equal=True
    )
    known = anonymiser.prefixes([*rows["src"].unique(), *rows["dst"].unique()])
    sent, held = pl.col("data_bytes"), pl.col("affected_bytes")
    whole = sent.sum().over("time_ns")
    return (
        rows.select(
            "time_ns",
            "network",
            pl.col("src", "dst").replace_strict(known, return_dtype=pl.String),
            "dscp",
            *RATIOS,
            *SOURCES,
            pl.when(whole > 0).then(sent / whole).alias("share"),
            pl.when(sent > 0).then(held / sent).alias("affected_share"),
        )
        .with_columns(pl.col(*RATIOS, *SHARES).round_sig_figs(DIGITS))
        .sort("time_ns", "network", "src", "dst", "dscp")
    )


def exported(rows: pl.DataFrame, about: Mapping[str, Any]) -> dict[str, Any]:
    """The document that is handed over; `about` is what an answer says of its time (`coverage`).

    Of shares no more is told than of the ratios of rows: counts could be had back from them.
    """
    shares = pl.DataFrame([about], schema=dict.fromkeys(KNOWN, pl.Float64))
    return {
        "interval": about["interval"],
        **shares.select(pl.all().round_sig_figs(DIGITS)).row(0, named=True),
        "addresses": "Crypto-PAn",
        "paths": rows.to_dicts(),
    }
