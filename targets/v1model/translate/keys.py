# SPDX-License-Identifier: Apache-2.0
"""How table keys lie in 64-bit words: small fields share a word, a field wider than 64 bits starts one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grasp.targets.v1model.translate.layout import words
from grasp.targets.v1model.translate.packing import Part


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field lies in a key."""

    word: int
    shift: int
    width: int


def key_layout(widths: Sequence[int]) -> list[Place]:
    """The places of fields of these widths."""
    places, word, used = list[Place](), 0, 0
    for width in widths:
        if used and used + width > 64:
            word, used = word + 1, 0
        places.append(Place(word, used, width))
        if width > 64:
            word, used = word + words(width), 0
        else:
            used += width
    return places


def key_size(places: Sequence[Place]) -> int:
    """How many words the key takes."""
    return max((place.word + words(place.width) for place in places), default=0)


def key_words(parts: Sequence[Part], places: Sequence[Place]) -> list[str]:
    """C code for each word of a key."""
    texts = [list[str]() for _ in range(key_size(places))]
    for part, place in zip(parts, places, strict=True):
        if place.width <= 64:
            texts[place.word].append(part.integer(place.shift))
        elif place.width <= 128:
            texts[place.word].append(f"(uint64_t){part.text}")
            texts[place.word + 1].append(f"(uint64_t)((v1_u128){part.text} >> 64)")
        else:
            for number in range(words(place.width)):
                texts[place.word + number].append(f"{part.text}[{number}]")
    return [" | ".join(word) for word in texts]


def key_value(values: Sequence[int], places: Sequence[Place]) -> list[int]:
    """The words of a key with these values."""
    whole = sum(value << (64 * place.word + place.shift) for value, place in zip(values, places, strict=True))
    return [whole >> (64 * number) & (1 << 64) - 1 for number in range(key_size(places))]
