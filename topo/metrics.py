# SPDX-License-Identifier: Apache-2.0
"""Reads the controller's counters from its Prometheus endpoint, as any monitor would."""

import urllib.request
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

from grasp.topo.configuration import METRICS

_TIMEOUT = 10.0


def scrape() -> dict[str, Counter[str]]:
    """Counts by metric (`grasp_jobs`, `grasp_drops`, ...) and by its last label, summed over switches.

    Blocks until the controller has read the switches; OSError when it does not answer.
    """
    with urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=_TIMEOUT) as answer:
        text = answer.read().decode()
    counts: dict[str, Counter[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "switch"}
            if sample.name.startswith("grasp_") and len(labels) == 1:
                key = next(iter(labels.values()))
                counts.setdefault(family.name, Counter())[key] += int(sample.value)
    return counts
