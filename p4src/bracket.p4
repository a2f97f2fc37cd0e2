// SPDX-License-Identifier: Apache-2.0
// The bracket: an exact argmax of headroom over 256 sites in nine register reads.
//
// A knock-out tournament. Level 0 has a cell per site; each cell above holds the better of the two below it;
// the one cell of level 8 is the winner. A change of one site plays again only the matches on its path:
//
//      8                  root                 selection reads this one cell
//      7             w             .
//      ...         .   .         .   .
//      0          s0  s1        .. s255        a forecast, debit, probe or strike rewrites one
//
// A cell is (1, score, 255 - site) as one unsigned number, so one comparison decides a match and equal scores go
// to the lower id. The score is the headroom with its sign bit inverted, which makes the order of signed
// numbers that of unsigned ones. A bit before them says that there is a site: the cell 0, of one that must not
// be chosen, loses to every other.

#ifndef GRASP_BRACKET_P4
#define GRASP_BRACKET_P4

#include "constants.p4"

typedef bit<57> cell_t;
const cell_t NO_SITE = 0;

register<cell_t>(256) bracket_0;
register<cell_t>(128) bracket_1;
register<cell_t>(64) bracket_2;
register<cell_t>(32) bracket_3;
register<cell_t>(16) bracket_4;
register<cell_t>(8) bracket_5;
register<cell_t>(4) bracket_6;
register<cell_t>(2) bracket_7;
register<cell_t>(1) bracket_8;

// One match: the winner so far against its neighbour on `level`; the better one moves up to `above`.
#define PLAY(level, above)                       \
    level.read(rival, (bit<32>)(position ^ 1));  \
    if (rival > winner) {                        \
        winner = rival;                          \
    }                                            \
    position = position >> 1;                    \
    above.write((bit<32>)position, winner);

control Bracket(in site_t site, in energy_t headroom, in bool eligible) {
    apply {
        cell_t winner = NO_SITE;
        cell_t rival;
        bit<16> position = (bit<16>)site;
        if (eligible) {
            winner = 1w1 ++ (headroom ^ (1 << 47)) ++ (8w255 - site);
        }
        bracket_0.write((bit<32>)position, winner);
        PLAY(bracket_0, bracket_1)
        PLAY(bracket_1, bracket_2)
        PLAY(bracket_2, bracket_3)
        PLAY(bracket_3, bracket_4)
        PLAY(bracket_4, bracket_5)
        PLAY(bracket_5, bracket_6)
        PLAY(bracket_6, bracket_7)
        PLAY(bracket_7, bracket_8)
    }
}

control Winner(out bool found, out site_t site) {
    apply {
        cell_t root;
        bracket_8.read(root, 0);
        found = root != NO_SITE;
        site = 8w255 - root[7:0];
    }
}

#endif
