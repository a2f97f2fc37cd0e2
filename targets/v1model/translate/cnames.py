# SPDX-License-Identifier: Apache-2.0
"""C identifiers from P4 names."""

from __future__ import annotations

import re

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while asm typeof bool true false NULL errno stdin stdout stderr main linux unix
"""
# What the generated functions call their own variables.
_VARIABLES = """
    s packet state next end at key entry call table args index color value words context out cursor hit
    round cell modulus bits action count rest v1 meta hdr memset memcpy memmove memcmp
"""
_FAMILIES = ("v1_", "do_", "apply_", "hash_", "select_", "parse_", "extract_", "emit_", "equal_")
_TAKEN = frozenset(f"{_KEYWORDS} {_VARIABLES}".split())


class Names:
    """Gives every P4 name its own C identifier, as like it as C allows."""

    def __init__(self, *used: str) -> None:
        self._used = set(used)

    def new(self, name: str, prefix: str = "") -> str:
        """A fresh identifier for a P4 name."""
        plain = prefix + identifier(name)
        if plain in _TAKEN or plain.startswith(_FAMILIES if not prefix else "v1_"):
            plain += "_"
        result, number = plain, 2
        while result in self._used:
            result, number = f"{plain}_{number}", number + 1
        self._used.add(result)
        return result


def identifier(name: str) -> str:
    """The name with everything that C does not allow in it replaced."""
    plain = re.sub(r"\W+", "_", name.replace("$", "_"), flags=re.ASCII).strip("_") or "unnamed"
    return plain if not plain[0].isdigit() else f"n{plain}"


def text(string: str) -> str:
    """A C string literal."""
    quoted = "".join(
        character if 32 <= byte < 127 and character not in '"\\?' else f"\\{byte:03o}"
        for byte, character in ((byte, chr(byte)) for byte in string.encode())
    )
    return f'"{quoted}"'


def comment(string: str) -> str:
    """Text that is safe inside a C comment, on one line."""
    return re.sub(r"\s+", " ", string).replace("*/", "* /").replace("/*", "/ *").strip()
