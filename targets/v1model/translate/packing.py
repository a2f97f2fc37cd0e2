# SPDX-License-Identifier: Apache-2.0
"""C code that takes values out of bytes and puts them into bytes, as they lie on the wire."""

from __future__ import annotations

from dataclasses import dataclass

from grasp.targets.v1model.p4json import Field
from grasp.targets.v1model.translate.layout import words


@dataclass(frozen=True, slots=True)
class Part:
    """A value to be written: its C text, an integer up to 128 bits, else an array of words; and its width."""

    text: str
    width: int
    signed: bool = False

    def integer(self, shift: int = 0) -> str:
        """The value in 64 bits, what is above its width cut off, moved left."""
        mask = (1 << self.width) - 1
        text = f"((uint64_t){self.text} & {mask:#x}u)" if self.signed else self.text
        return f"(uint64_t){text} << {shift}" if shift else text


def load(field: Field, offset: int, source: str) -> str:
    """C code for the field at a bit offset from `source`; '' if it takes more than loads and shifts."""
    first, inside, width = offset // 8, offset % 8, field.width
    count = (inside + width + 7) // 8
    at = f"{source} + {first}" if first else source
    if count <= 8:
        text = f"v1_load({at}, {count})"
        if after := 8 * count - inside - width:
            text = f"{text} >> {after}"
        if field.signed:
            return f"v1_signed({text}, {width})"
        return f"{text} & {(1 << width) - 1:#x}" if inside else text
    if inside == 0 and width % 8 == 0 and width <= 128 and not field.signed:
        upper = count - 8
        return f"V1_U128(v1_load({at}, {upper}), v1_load({source} + {first + upper}, 8))"
    return ""


def load_lines(field: Field, lvalue: str, offset: int, source: str) -> list[str]:
    """C statements that set a fixed field from the bits at `offset`."""
    if text := load(field, offset, source):
        return [f"{lvalue} = {text};"]
    if field.width > 128:
        return [f"v1_load_bits({lvalue}, {source}, {offset}, {field.width});"]
    lines = [
        f"uint64_t words[{words(field.width)}];",
        f"v1_load_bits(words, {source}, {offset}, {field.width});",
    ]
    value = "V1_U128(words[1], words[0])" if words(field.width) == 2 else "words[0]"
    if field.signed:
        value = f"v1_signed{'128' if field.width > 64 else ''}({value}, {field.width})"
    return ["{", *(f"    {line}" for line in lines), f"    {lvalue} = {value};", "}"]


def store_lines(parts: list[Part], target: str) -> list[str]:
    """C statements that write the parts one after the other, whole bytes altogether, from `target` on."""
    lines, offset = list[str](), 0
    while parts:
        group, bits = [parts[0]], parts[0].width
        while bits % 8 and len(group) < len(parts):
            group.append(parts[len(group)])
            bits += group[-1].width
        parts = parts[len(group) :]
        lines += _store_group(group, bits, offset, target)
        offset += bits
    return lines


def _store_group(group: list[Part], bits: int, offset: int, target: str) -> list[str]:
    at = f"{target} + {offset // 8}" if offset else target
    if bits <= 64 and bits % 8 == 0:
        text, left = list[str](), bits
        for part in group:
            left -= part.width
            text.append(part.integer(left))
        return [f"v1_store({at}, {bits // 8}, {' | '.join(text)});"]
    if len(group) == 1 and bits <= 128 and bits % 8 == 0:
        upper = bits // 8 - 8
        return [
            f"v1_store({at}, {upper}, (uint64_t)((v1_u128){group[0].text} >> 64));",
            f"v1_store({target} + {offset // 8 + upper}, 8, (uint64_t){group[0].text});",
        ]
    lines = []
    for part in group:
        lines.append(f"v1_store_bits({target}, {offset}, {as_words(part)}, {part.width});")
        offset += part.width
    return lines


def as_words(part: Part) -> str:
    """C code for the words of a part, the least significant first."""
    if part.width > 128:
        return part.text
    if part.width > 64:
        if part.signed:  # words hold no sign above the width
            part = Part(f"((v1_u128){part.text} & {_mask(part.width)})", part.width)
        return f"(const uint64_t[]){{(uint64_t){part.text}, (uint64_t)((v1_u128){part.text} >> 64)}}"
    return f"(const uint64_t[]){{(uint64_t){part.text}}}"


def _mask(width: int) -> str:
    """A literal of 65 to 128 ones."""
    return f"V1_U128({(1 << (width - 64)) - 1:#x}u, UINT64_MAX)"
