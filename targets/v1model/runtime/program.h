/* SPDX-License-Identifier: Apache-2.0 */
/* What a translated program tells the run time: its objects, and its functions.
 *
 * A program is one generated C file that includes runtime.h and defines
 * `const struct v1_program v1_program`. It is compiled to a shared object of its own and holds no
 * state: everything that changes lives in a struct v1_context, so that one loaded program can
 * serve several switches.
 *
 * Values. A value of up to 64 bits is one uint64_t word, the bits above its width zero (signed
 * values too: their two's complement cut to the width). A wider value takes (width + 63) / 64
 * words, the least significant first. Only where a key says so (struct v1_field) do several values
 * share a word. */
#ifndef GRASP_V1_PROGRAM_H
#define GRASP_V1_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes whenever a struct of these headers does: an old shared object is refused. */
#define V1_ABI 1

#define V1_WORDS(width) (((width) + 63) / 64)
#define V1_NO_ACTION UINT32_MAX /* no default action: a miss does nothing */
#define V1_NONE UINT32_MAX      /* no such object */

struct v1_packet;

enum v1_match { V1_EXACT = 0, V1_LPM = 1, V1_TERNARY = 2, V1_RANGE = 3 };

/* One key field: bits shift to shift + width - 1 of the key's word number `word`. Small fields may
 * share a word, none straddles two; one wider than 64 bits starts a word and takes V1_WORDS(width).
 * Bits that belong to no field are 0 in keys and masks. An optional field is V1_TERNARY with a mask
 * of all ones or zero; a header's validity is V1_EXACT with width 1. */
struct v1_field {
    const char *name; /* as the JSON names it; p4c keeps the P4 name in the key's `name` */
    uint32_t match;   /* enum v1_match */
    uint32_t width;   /* bits */
    uint32_t word;
    uint32_t shift;
};

struct v1_action {
    const char *name;
    uint32_t id;            /* JSON id; may repeat for actions of one name */
    uint32_t parameters;    /* how many */
    const uint32_t *widths; /* of each parameter, bits */
    const char *const *names;
};

/* An entry that the program brings with it (const entries, entries). `value` and `mask` are laid
 * out like the key. `mask` is, for each field: V1_EXACT all ones, V1_LPM and V1_TERNARY the mask,
 * V1_RANGE the upper bound (`value` is the lower). */
struct v1_const_entry {
    const uint64_t *value;
    const uint64_t *mask;
    int32_t priority;     /* larger wins; 0 where the table has no priorities */
    uint32_t action;      /* index into v1_program.actions */
    const uint64_t *args; /* words of the arguments in parameter order */
};

struct v1_table_info {
    const char *name;
    uint32_t id;
    uint32_t match; /* of the whole table: V1_RANGE if any field is, else V1_TERNARY, V1_LPM */
    uint32_t fields;
    const struct v1_field *field;
    uint32_t key_words; /* 0 for a keyless table */
    uint32_t size;      /* largest number of entries */
    uint32_t actions;   /* how many may be called */
    const uint32_t *action;
    uint32_t default_action; /* index into v1_program.actions, or V1_NO_ACTION */
    const uint64_t *default_args;
    bool const_default; /* the default entry cannot be changed */
    bool const_entries; /* no entry can be added, changed or deleted */
    bool direct_counter;
    bool support_timeout;
    uint32_t direct_meter; /* 0 none, else 1 + enum v1_unit */
    uint32_t profile;      /* index into v1_program.profiles, or V1_NONE */
    uint32_t entries;
    const struct v1_const_entry *entry;
    const char *direct_counter_name; /* JSON names, or NULL */
    const char *direct_meter_name;
};

/* Action profile; with `select`, an action selector, whose hash over the selector's input fields
 * `select` returns. */
struct v1_profile_info {
    const char *name;
    uint32_t id;
    uint32_t size;
    uint64_t (*select)(const struct v1_packet *packet);
};

struct v1_register_info {
    const char *name;
    uint32_t id;
    uint32_t width; /* bits */
    uint32_t size;  /* cells */
};

struct v1_counter_info { /* indirect */
    const char *name;
    uint32_t id;
    uint32_t size;
};

enum v1_unit { V1_PACKETS = 0, V1_BYTES = 1 };

struct v1_meter_info { /* indirect */
    const char *name;
    uint32_t id;
    uint32_t unit; /* enum v1_unit */
    uint32_t size;
};

struct v1_digest_info { /* a learn list */
    const char *name;
    uint32_t id;
    uint32_t fields;
    const uint32_t *widths; /* bits of each field */
    uint32_t words;         /* sum of V1_WORDS over the fields */
};

struct v1_program {
    uint32_t abi; /* V1_ABI */
    const char *name;
    uint32_t state_bytes;  /* sizeof the program's packet state, which begins with v1_packet */
    uint32_t header_bytes; /* the most that `deparse` can write */

    uint32_t actions;
    const struct v1_action *action;
    uint32_t tables;
    const struct v1_table_info *table;
    uint32_t profiles;
    const struct v1_profile_info *profile;
    uint32_t registers;
    const struct v1_register_info *reg;
    uint32_t counters;
    const struct v1_counter_info *counter;
    uint32_t meters;
    const struct v1_meter_info *meter;
    uint32_t digests;
    const struct v1_digest_info *digest_info;
    uint32_t value_sets; /* parser value sets are tables without actions */
    const struct v1_table_info *value_set;

    /* Make the state that of a packet not yet parsed: every header invalid, stacks empty, the
     * program's own metadata zero. The run time has zeroed struct v1_standard and the requests. */
    void (*reset)(struct v1_packet *packet);
    /* Zero the program's own metadata; headers stay. The run time zeroes struct v1_standard. */
    void (*reset_metadata)(struct v1_packet *packet);
    /* Parse from packet->data; set packet->parsed, standard.parser_error; then verify checksums
     * and set standard.checksum_error. Up to V1_SLACK bytes past packet->length may be read. */
    void (*parse)(struct v1_packet *packet);
    void (*ingress)(struct v1_packet *packet);
    void (*egress)(struct v1_packet *packet);
    /* Update checksums, write the headers to `out`, return how many bytes; the run time appends
     * the payload (packet->data + packet->parsed up to packet->length). */
    size_t (*deparse)(struct v1_packet *packet, uint8_t *out);
    /* Copy the fields of a field list (its JSON id) between two packets' states. */
    void (*copy_fields)(struct v1_packet *to, const struct v1_packet *from, uint32_t list);
    /* Write the words of learn list number `digest` (index into digest_info). */
    void (*digest)(const struct v1_packet *packet, uint32_t digest, uint64_t *words);
};

#endif
