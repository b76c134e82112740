"""The names of companions: a setting knows them without loading what computes."""

COMPANIONS = {
    "dctcp_receiver": "DctcpReceiver",
    "dre": "Dre",
    "hpcc_aecn": "HpccAecn",
    "hpcc_csig": "HpccCsig",
    "hpcc_latency": "HpccLatency",
    "hpcc_probe": "HpccProbe",
    "hpcc_qos": "HpccQos",
    "hpcc_receiver": "HpccReceiver",
    "hpcc_reported": "HpccReported",
    "poseidon": "Poseidon",
    "swift": "Swift",
}
"""Modules of `companions`, which are the algorithms' names, and the class in each."""
