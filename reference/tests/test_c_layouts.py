"""The layouts of C against those of spec: two declarations, one meaning; what only one of them has stands here by name."""

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from fireassay.reference import core
from fireassay.spec import layouts

Rows = dict[str, tuple[int, int]]


class Match(NamedTuple):
    layout: str
    base: int = 0  # where the C struct starts in the layout
    joined: Mapping[str, tuple[str, ...]] = MappingProxyType(
        {}
    )  # a C field and the adjacent fields it is in spec, where not the one of its name
    holes: tuple[str, ...] = ()  # fields of spec that are padding in C
    rest: bool = True  # the struct covers the layout from base to its fixed end


# Where the name does not say it: C struct X_name is else the whole of spec's X.name.
MATCHES = {
    "ombus_record": Match("ombus.record", holes=("hole0", "hole1")),
    "ombus_data_header": Match("ombus.data", base=16),
    "ombus_batch_header": Match("ombus.batch_data", base=16),
    "ombus_gap_request": Match("ombus.gap_request", base=16),
    "ombus_subscribe": Match("ombus.subscribe", base=16),
    "ombus_subscribe_ack": Match("ombus.subscribe_ack", base=16),
    "ombus_wal_header": Match("ombus.wal_header", joined={"packed": ("seq", "type", "len")}),
    "bridge_message_header": Match("bridge.message"),
    "comet_entry_header": Match("comet.entry"),
    "comet_index_header": Match("comet.index"),
    "comet_offsets_header": Match("comet.offsets", rest=False),
    "comet_offsets_entry": Match("comet.offsets_entry", joined={"state": ("state", "claimant_pid")}),
    "chronicle_message_header": Match("chronicle.message_header", joined={"pad0": ("hole",), "reserved": ("reserved_u32",)}),
    "chronicle_control_block": Match("chronicle.control"),
    "simplebus_record_prefix": Match("simplebus.record"),
}
# Repeated inside comet.index, so spec gives them no offset; compared below through bytes.
PARTS = {"comet_index_node", "comet_file_path", "comet_file_span"}
# Other uses of a layout that C has, or layouts that C does not declare yet. A layout that C comes to know must leave this list.
NOT_IN_C = {
    "ombus.gap_response", "ombus.heartbeat",
    "ombus.wal_record", "ombus.wal_record_crc",
    "chronicle.message", "chronicle.book_event", "chronicle.lease", "chronicle.snapshot",
    "simplebus.record_with_topic", "simplebus.header_map", "simplebus.index_snapshot",
}  # fmt: skip


def c_structs(variant: str = "release") -> dict[str, tuple[int, Rows]]:
    """Struct to (size, field to (offset, size))."""
    ffi, lib = core.load(variant)
    row = ffi.new("fa_layout_field *")
    found: dict[str, tuple[int, Rows]] = {}
    for index in range(lib.fa_layout_count()):
        assert lib.fa_layout_get(index, row) == 0
        structure, field = ffi.string(row.structure).decode(), ffi.string(row.field).decode()
        if not field:
            assert structure not in found
            found[structure] = (row.size, {})
        else:
            assert field not in found[structure][1]
            found[structure][1][field] = (row.offset, row.size)
    return found


C = c_structs()
SPEC = {layout.name: layout for layout in layouts.ALL}


def match_of(structure: str) -> Match | None:
    if structure in MATCHES:
        return MATCHES[structure]
    name = structure.replace("_", ".", 1)
    return Match(name) if name in SPEC else None


def test_each_struct_of_c_is_known_to_spec() -> None:
    assert {structure for structure in C if match_of(structure) is None} == PARTS
    assert {*MATCHES, *PARTS} - set(C) == set()


def test_each_layout_of_spec_is_known_to_c_or_named_as_absent() -> None:
    known = {match.layout for structure in C if (match := match_of(structure))}
    assert set(SPEC) - known == NOT_IN_C, "C lacks a layout that is not named as absent, or has one that is"


@pytest.mark.parametrize("structure", sorted(set(C) - PARTS))
def test_offsets_and_sizes_are_the_same_in_both(structure: str) -> None:
    match = match_of(structure)
    assert match is not None
    size, fields = C[structure]
    layout = SPEC[match.layout]
    theirs = {name: (at - match.base, width) for name, (at, width) in layout.offsets.items() if at >= match.base}
    fixed_end = max(at + width for at, width in theirs.values())
    expected: Rows = {}
    for field in fields:
        names = match.joined.get(field, (field,))
        assert set(names) <= set(theirs), f"spec's {match.layout} has no {names}"
        parts = [theirs.pop(name) for name in names]
        assert all(left[0] + left[1] == right[0] for left, right in itertools.pairwise(parts)), names
        expected[field] = (parts[0][0], sum(width for _, width in parts))
    assert fields == expected
    if match.rest:
        assert set(theirs) == set(match.holes), f"C's {structure} lacks these"
        assert size == fixed_end
        assert layout.variable or size + match.base == layout.size
    else:
        assert min(at for at, _ in theirs.values()) == size


@pytest.mark.parametrize("structure", sorted(C))
def test_the_fields_of_a_struct_lie_one_after_another_and_fill_it(structure: str) -> None:
    size, fields = C[structure]
    match = match_of(structure)
    covered = [False] * size
    for at, width in [*fields.values(), *(SPEC[match.layout].offsets[hole] for hole in (match.holes if match else ()))]:
        assert width > 0
        assert not any(covered[at : at + width])
        covered[at : at + width] = [True] * width
    assert all(covered)


def test_the_parts_of_an_index_lie_where_c_takes_them() -> None:
    numbers = {name: 0x1111111111111111 * (i + 1) for i, name in enumerate(C["comet_file_span"][1])}
    node = {"entry": 0x0102030405060708, "file": 0, "offset": 0x1112131415161718}
    values = {"current_entry": 9, "write_offset": 10, "nodes": [node], "files": [{"path": "log-1", **numbers}]}
    data = layouts.build(layouts.comet.INDEX, values)

    def take(structure: str, base: int) -> dict[str, int]:
        return {name: int.from_bytes(data[base + at : base + at + width], "little") for name, (at, width) in C[structure][1].items()}

    at = C["comet_index_header"][0]
    assert take("comet_index_node", at) == {"entry": node["entry"], "file_index": 0, "byte_offset": node["offset"]}
    at += C["comet_index_node"][0]
    assert take("comet_file_path", at) == {"path_len": 5}
    at += C["comet_file_path"][0] + 5
    assert take("comet_file_span", at) == numbers
    assert at + C["comet_file_span"][0] == len(data)


def test_every_variant_has_the_same_layouts_and_none_beyond_its_table() -> None:
    assert all(c_structs(variant) == C for variant in core.VARIANTS)
    ffi, lib = core.load("release")
    row = ffi.new("fa_layout_field *")
    assert lib.fa_layout_get(-1, row) < 0
    assert lib.fa_layout_get(lib.fa_layout_count(), row) < 0
