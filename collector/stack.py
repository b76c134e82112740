"""Stacks of records behind a header: where each lies, and what is to be read of it."""

from typing import Any

import numpy as np

from collector.graph import HOP_BASE, HOP_WIDTH, Graph
from collector.graph_dtype import NONE
from collector.header import Data
from collector.kernel import Record, step
from collector.observation import HOPS as MOST_HOPS
from collector.script import (
    HOP,
    HOPS,
    LITTLE,
    MATCHABLE,
    MOST_RECORDS,
    NEED,
    Script,
    decide,
    drop,
    fetch,
    push,
    push_constant,
    signed,
)
from collector.status import CODE

TRUNCATED = CODE["truncated"]
TOO_MANY_HOPS = CODE["too_many_hops"]
WORD = 4
STARTS, LENGTHS, KEYS = range(3)


@step
def named(part: Record, rule: Record, chosen: Any) -> bool:
    """Whether a part is in a record: by the bitmap, or by the record's key."""
    if rule.keyed != 0:
        return bool(part.mask == chosen)
    return bool(part.mask & chosen != 0)


@step
def bitmap(rule: Record, s: Script) -> Any:
    """The bits that name parts; all ones when every record has all parts."""
    if rule.bitmap0 == NONE:
        return ~np.uint64(0)
    bits = s.register[rule.bitmap0]
    if rule.bitmap1 != NONE:
        bits = bits << np.uint64(rule.width) | s.register[rule.bitmap1]
    return bits


@step
def measure(rule: Record, chosen: Any, graph: Graph) -> tuple[int, int]:
    """(octets of the parts of a record, octets of those that count words of their own)."""
    need, counting = 0, 0
    for number in range(rule.part0, rule.part1):
        part = graph.parts[number]
        if named(part, rule, chosen):
            need += part.octets
            if part.counts != 0:
                counting += part.octets
    return need, counting


@step
def area(
    at: int, behind: int, wire_end: int, rule: Record, chosen: Any, graph: Graph, s: Script
) -> tuple[int, int, int, int]:
    """(first octet of the records, their octets or -1, octets of the stack, those behind it)."""
    start = behind if rule.start == NONE else at + rule.start
    if rule.count != NONE:
        stride = measure(rule, chosen, graph)[0]
        count = signed(s.register[rule.count])
        whole = count * stride
        held = min(count, rule.slots) if rule.slots > 0 else count
        return start, held * stride, whole, whole if rule.start == NONE else 0
    if rule.total == NONE:
        need = measure(rule, chosen, graph)[0]
        return start, need, need, need if rule.start == NONE else 0
    whole = signed(s.register[rule.total]) * rule.unit + rule.add
    taken = whole if rule.start == NONE else 0
    free = signed(s.register[rule.skip]) * WORD if rule.skip != NONE else 0
    if rule.tail != NONE and s.register[rule.tail] & rule.tail_mask != 0:
        start, taken = wire_end - whole, 0
        s.n[MATCHABLE] = 0
    if whole < 0 or free > whole or start < at:
        return start, -1, whole, max(taken, 0)
    left = whole - free
    stride = signed(s.register[rule.stride]) * WORD if rule.stride != NONE else 0
    if left >= rule.bottom and (stride == 0 or (left - rule.bottom) % stride == 0):
        left -= rule.bottom
    return start + free, left, whole, taken


@step
def emit(
    at: int, rule: Record, chosen: Any, base: int, flags: int, graph: Graph, s: Script
) -> None:
    """The fields of the record at octet `at` are to be read into columns from `base` on."""
    for number in range(rule.part0, rule.part1):
        part = graph.parts[number]
        if named(part, rule, chosen):
            for row in range(part.field0, part.field1):
                field = graph.fields[row]
                if field.kept != 0:
                    push(s, at, field, base + field.column, flags)
            at += part.octets


@step
def steer(
    data: Data, start: int, at: int, rule: Record, chosen: Any, graph: Graph, s: Script
) -> None:
    """Fields of a frame's single record steer as fields of a header do."""
    for number in range(rule.part0, rule.part1):
        part = graph.parts[number]
        if named(part, rule, chosen):
            for row in range(part.field0, part.field1):
                field = graph.fields[row]
                if field.column != NONE:
                    s.register[field.column] = fetch(data, start + at, field) | field.plus
                    s.register_at[field.column] = at
                    s.register_field[field.column] = row
            at += part.octets


@step
def count_words(
    data: Data, start: int, at: int, end: int, rule: Record, chosen: Any, graph: Graph, s: Script
) -> int:
    """Words that parts of the record at octet `at` count; -1: not captured."""
    counted = 0
    for number in range(rule.part0, rule.part1):
        part = graph.parts[number]
        if named(part, rule, chosen):
            if part.counts != 0:
                if at + part.octets > end:
                    return -1
                counted += signed(fetch(data, start + at, part.words))
                decide(s, data, start, at, part.words)
                s.n[NEED] = max(s.n[NEED], at + part.octets)
            at += part.octets
    return counted


@step
def split(
    data: Data, start: int, at: int, stop: int, end: int, rule: Record, graph: Graph, s: Script
) -> tuple[int, int]:
    """Find the records between `at` and `stop`: (how many, status)."""
    chosen = bitmap(rule, s)
    need, counting = measure(rule, chosen, graph)
    found = 0
    while at < stop:
        if rule.keyed != 0:
            if at + 1 > end:
                return found, TRUNCATED
            chosen = fetch(data, start + at, rule.key)
            decide(s, data, start, at, rule.key)
            s.n[NEED] = max(s.n[NEED], at + 1)
            need, counting = measure(rule, chosen, graph)
            if need == 0:
                return found, rule.reason
        length = need
        if rule.stride != NONE:
            length = signed(s.register[rule.stride]) * WORD
            if need - counting > length or (rule.exact != 0 and need - counting != length):
                return found, rule.reason
            length += counting
        if counting > 0:
            words = count_words(data, start, at, end, rule, chosen, graph, s)
            if words < 0:
                return found, TRUNCATED
            length += words * WORD
        if length == 0 or at + length > stop or found >= MOST_RECORDS:
            return found, rule.reason
        s.records[STARTS, found] = at
        s.records[LENGTHS, found] = length
        s.records[KEYS, found] = signed(chosen)
        found += 1
        at += length
    return found, 0


@step
def disagree(rule: Record, graph: Graph, s: Script) -> None:
    """Tell the words of a record where its parts come to others; 0 takes back what was told."""
    words = s.register[rule.stride]
    if signed(words) * WORD == measure(rule, bitmap(rule, s), graph)[0]:
        words = np.uint64(0)
    if words != 0 or s.register[rule.mismatch] != 0:
        s.register[rule.mismatch] = words
        push_constant(s, words, rule.mismatch, 0)


@step
def stack(
    data: Data,
    start: int,
    at: int,
    behind: int,
    end: int,
    wire_end: int,
    node: Record,
    graph: Graph,
    s: Script,
) -> tuple[int, int]:
    """Read the records of the header at octet `at`: (octets that they take behind it, status)."""
    rule = graph.records[node.records]
    if rule.mismatch != NONE:
        disagree(rule, graph, s)
    first, left, whole, taken = area(at, behind, wire_end, rule, bitmap(rule, s), graph, s)
    if left < 0:
        return taken, rule.reason
    found, status = split(data, start, first, first + left, end, rule, graph, s)
    if status == rule.reason and rule.whole == 0:
        return taken, status
    if status != 0:
        s.n[MATCHABLE] = 0
    kept = 1
    if rule.per_hop != 0:
        drop(s, HOP, HOP)
        kept = min(found, MOST_HOPS)
        s.n[HOPS] = kept
        if found > MOST_HOPS and status == 0:
            status = TOO_MANY_HOPS
    turn = 0
    if rule.slots > 0 and signed(s.register[rule.count]) > rule.slots:
        turn = signed(s.register[rule.count]) % rule.slots
    for hop in range(min(kept, found)):
        record = found - 1 - hop if rule.newest_first != 0 else hop
        record = (record + turn) % found
        place = s.records[STARTS, record]
        length = s.records[LENGTHS, record]
        if place + length > end:
            sent = rule.per_hop != 0 or place + length <= wire_end
            status = TRUNCATED if sent else rule.reason
            s.n[MATCHABLE] = 0
            continue
        s.n[NEED] = max(s.n[NEED], place + length)
        chosen = np.uint64(s.records[KEYS, record])
        if rule.per_hop != 0:
            base = graph.scalars[HOP_BASE] + hop * graph.scalars[HOP_WIDTH]
            emit(place, rule, chosen, base, HOP * rule.per_hop, graph, s)
        else:
            emit(place, rule, chosen, rule.per_hop, rule.per_hop, graph, s)
            steer(data, start, place, rule, chosen, graph, s)
    # Free space lies in front of the records, what belongs to none of them behind.
    below = first + left
    if rule.bottom > 0 and rule.total != NONE and left + rule.bottom == whole:
        if below + rule.bottom <= end:
            s.n[NEED] = max(s.n[NEED], below + rule.bottom)
            part = graph.parts[rule.bottom_part]
            flags = rule.per_hop & HOP & LITTLE  # none: these are the frame's own
            for row in range(part.field0, part.field1):
                if graph.fields[row].kept != 0:
                    push(s, below, graph.fields[row], graph.fields[row].column, flags)
        else:
            s.n[MATCHABLE] = 0
    return taken, status
