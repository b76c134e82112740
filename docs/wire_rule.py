"""The rules of a header's table in words."""

from collections.abc import Iterator

from markdown_text import code

from collector.wire.table import Branch, Check, Header, Length, Records

CUT = "truncated"
ENVELOPES = {
    "mirror": "It carries a mirror's copy: what was read before it is forgotten.",
    "flow": "It starts a flow of its own: addresses and transport that were read before give way.",
}


def rules(header: Header) -> Iterator[str]:
    """One sentence a rule."""
    yield from sizes(header)
    if header.short != CUT:
        yield f"Where what was sent ends inside it, the frame ends with {code(header.short)}."
    for check in header.checks:
        yield checked(check, header.otherwise)
    yield from following(header)
    for column, value in header.marks:
        yield f"It sets {code(column)} to {value}."
    if header.remainder:
        kept = " and ".join(map(code, header.remainder))
        yield f"Octets behind what is known are kept as {kept}."
    if header.envelope:
        yield ENVELOPES[header.envelope]


def sizes(header: Header) -> Iterator[str]:
    """How long a header and what it carries are."""
    if header.length:
        yield f"It takes {length(header.length)} octets."
    if header.extent:
        yield f"Header and payload take {length(header.extent)} octets."
    if header.trailer:
        yield f"The last {length(header.trailer)} octets of what it carries are no payload."
    if header.peek:
        yield "It is only looked at: what follows starts at the same octet."


def following(header: Header) -> Iterator[str]:
    """What follows, and how it is found."""
    if header.options:
        space, style = header.options
        yield f"Options are those of {code(space)}, written in the style of {style}."
    for branch in header.branches:
        yield branched(branch)
    if header.next:
        field, space = header.next
        yield f"What follows is named by {code(field)} in {code(space)}."
    if header.to:
        yield f"{code(header.to)} follows."
    if header.again:
        yield f"Another {code(header.again)} may start where this one ends, in a row of its own."


def length(rule: Length) -> str:
    """A rule of length as a formula."""
    name = code(rule.column or rule.field)
    if rule.flags:
        name = f"(number of set bits in {name} & 0x{rule.flags:x})"
    text = name if rule.unit == 1 else f"{name} × {rule.unit}"
    if not rule.column and not rule.field:
        return str(rule.add)
    if rule.add:
        text += f" {'+' if rule.add > 0 else '−'} {abs(rule.add)}"
    return f"{text} (0 says nothing)" if rule.open else text


def checked(check: Check, otherwise: str | None) -> str:
    """What a field must be, and what happens else."""
    low, high = check.low, check.high
    allowed = f"{low}" if low == high else f"{low} to {high}"
    if check.reason:
        return f"{code(check.field)} is {allowed}, else the frame ends with {code(check.reason)}."
    other = (
        f"{code(otherwise)} is tried" if otherwise else "it is no such header and is passed over"
    )
    return f"{code(check.field)} is {allowed}, else {other}."


def branched(branch: Branch) -> str:
    """Which value leads elsewhere."""
    whole = branch.mask in {0xFF, 0xFFFF, 0xFFFF_FFFF, (1 << 64) - 1}
    what = code(branch.column) if whole else f"{code(branch.column)} & 0x{branch.mask:x}"
    target = (
        code(branch.to)
        if branch.to
        else f"what {code(branch.select)} names in {code(branch.space)}"
    )
    if branch.mask == 0:
        return f"{target} follows."
    return f"When {what} is {branch.value}, {target} follows."


def recorded(records: Records) -> Iterator[str]:
    """How many records there are, how they are laid out, what ends the frame."""
    if records.bitmap:
        yield "Set bits of " + " and ".join(map(code, records.bitmap)) + " name the parts of each."
    if records.key:
        yield f"Each starts with {code(records.key.name)} ({records.key.bits} bits), its layout."
    if records.count:
        yield f"There are {code(records.count)}."
    elif records.total:
        text = "The stack takes "
        text += length(Length(column=records.total, unit=records.unit, add=records.add)) + " octets"
        yield text + (f", less {code(records.skip)} words of free space." if records.skip else ".")
    else:
        yield "There is one."
    if records.stride:
        yield f"{code(records.stride)} is the words of each."
    if records.mismatch:
        yield f"Where the parts come to another sum, {code(records.mismatch)} says those words."
    if records.slots:
        yield f"They lie in a ring of {records.slots}, the oldest behind the newest."
    if records.newest_first and records.per_hop:
        yield "The newest comes first, and hop 0 is the last."
    yield f"Lengths that contradict each other end the frame with {code(records.reason)}."
