/* SPDX-License-Identifier: Apache-2.0 */
/* A program written by hand as the translator would: it lets a packet say what is to be done, so
 * that tests reach every part of the run time without P4.
 *
 * A packet is a header of 64 bytes, little endian, and a payload:
 *    0 flags (see the enum)      8 egress port           16 clone session
 *   24 multicast group           32 table, register...   40 key word 0    48 key word 1
 *   56 `kept`, which every field list carries over
 * Out goes the same header, with answers in the last four words (see `egress`). */
#include "runtime.h"

enum {
    CLONE = 1,
    RESUBMIT = 2,    /* once */
    RECIRCULATE = 4, /* once */
    DIGEST = 8,
    DROP = 16,
    LOOK_UP = 32,
    CLONE_EGRESS = 64, /* once */
    DROP_EGRESS = 128,
    COUNT = 256,
    METER = 512,
    TRUNCATE = 1024, /* to `kept` bytes */
    FOR_EVER = 2048, /* resubmit and recirculate again and again */
    PRIORITY = 4096, /* as `kept` says */
    REPORT = 8192,   /* answers are metadata, not the look-up's */
    FAIL = 16384,
    LOG = 32768
};

struct state {
    struct v1_packet v1;
    uint64_t kept; /* metadata */
    bool valid;
    uint64_t word[8];
};

static struct state *of(struct v1_packet *packet) {
    return (struct state *)packet;
}

static void reset_metadata(struct v1_packet *packet) {
    of(packet)->kept = 0;
}

static void reset(struct v1_packet *packet) {
    reset_metadata(packet);
    of(packet)->valid = false;
}

static void parse(struct v1_packet *packet) {
    struct state *state = of(packet);
    if (packet->length < sizeof(state->word)) {
        packet->standard.parser_error = 1;
        return;
    }
    memcpy(state->word, packet->data, sizeof(state->word));
    packet->parsed = sizeof(state->word);
    state->valid = true;
}

enum { TABLES = 9, VALUE_SET = TABLES };

static void look_up(struct state *state) {
    struct v1_packet *packet = &state->v1;
    struct v1_context *context = packet->context;
    const uint64_t *key = &state->word[5];
    uint64_t number = state->word[4];
    if (number == VALUE_SET) {
        state->word[5] = v1_match(&context->value_sets[0], key) != NULL;
        return;
    }
    struct v1_table *table = &context->tables[number];
    struct v1_entry *entry = NULL;
    if (table->info->match == V1_EXACT && table->info->key_words == 1)
        entry = v1_match_exact(table, key, 1);
    else if (table->info->key_words)
        entry = v1_match(table, key);
    if (entry && table->info->direct_meter)
        state->word[6] = v1_direct_meter(packet, table, entry);
    const struct v1_call *call = v1_result(packet, table, entry);
    state->word[5] = entry != NULL;
    state->word[4] = call->action;
    if (call->action == 1)
        state->word[7] = call->args[0];
    if (call->action == 2)
        state->word[7] = call->args[1] ^ call->args[2];
}

static void ingress(struct v1_packet *packet) {
    struct state *state = of(packet);
    struct v1_context *context = packet->context;
    uint64_t flags = state->word[0];
    if (!state->valid) {
        v1_mark_to_drop(packet);
        return;
    }
    if (state->kept == 0)
        state->kept = state->word[7];
    bool again = packet->standard.instance_type != V1_NORMAL;
    packet->standard.egress_spec = state->word[1] & 0x1ff; /* frames carry an EtherType there */
    packet->standard.mcast_grp = state->word[3];
    packet->requests.clone = flags & CLONE && !again;
    packet->requests.clone_session = (uint16_t)state->word[2];
    packet->requests.clone_list = 1;
    packet->requests.resubmit = flags & RESUBMIT && (!again || flags & FOR_EVER);
    packet->requests.resubmit_list = 1;
    packet->requests.digest = flags & DIGEST ? 1 : 0;
    if (flags & LOOK_UP)
        look_up(state);
    if (flags & COUNT)
        v1_count(packet, &context->counters[0], state->word[4]);
    if (flags & METER)
        v1_execute_meter(packet, &context->meters[state->word[5]], state->word[4], &state->word[6]);
    if (flags & TRUNCATE)
        v1_truncate(packet, state->kept);
    if (flags & PRIORITY)
        packet->standard.priority = state->kept;
    if (flags & LOG) {
        const uint64_t wide[2] = {state->word[5], state->word[6]}, negative = state->word[7] & 0xff;
        const struct v1_value values[] = {{&state->word[1], 9, false},
                                          {wide, 128, false},
                                          {&negative, 8, true},
                                          {wide, 128, true}};
        v1_log_message(packet, "port {}, wide {}, signed {} {}; {}", values, 4);
    }
    if (flags & FAIL)
        v1_assert_failed(packet, "bare.c");
    if (flags & DROP)
        v1_mark_to_drop(packet);
}

/* Answers of REPORT: instance type | rid << 8 | ingress port << 24 | recirculations... */
static void egress(struct v1_packet *packet) {
    struct state *state = of(packet);
    const struct v1_standard *standard = &packet->standard;
    uint64_t flags = state->word[0];
    bool first = standard->instance_type != V1_EGRESS_CLONE;
    packet->requests.clone = flags & CLONE_EGRESS && first;
    packet->requests.clone_session = (uint16_t)state->word[2];
    packet->requests.clone_list = 1;
    packet->requests.recirculate =
        flags & RECIRCULATE && (state->word[6] != V1_RECIRCULATED || flags & FOR_EVER);
    packet->requests.recirculate_list = 1;
    if (flags & RECIRCULATE)
        state->word[6] = V1_RECIRCULATED;
    if (flags & REPORT) {
        state->word[4] = standard->instance_type | standard->egress_rid << 8 |
                         standard->ingress_port << 24 | standard->egress_port << 40;
        state->word[5] = standard->packet_length | standard->enq_qdepth << 32;
        state->word[6] = standard->deq_timedelta | standard->deq_qdepth << 32;
        state->word[7] = state->kept;
    }
    if (flags & DROP_EGRESS && first)
        v1_mark_to_drop(packet);
}

static size_t deparse(struct v1_packet *packet, uint8_t *out) {
    memcpy(out, of(packet)->word, sizeof(of(packet)->word));
    return sizeof(of(packet)->word);
}

static void copy_fields(struct v1_packet *to, const struct v1_packet *from, uint32_t list) {
    if (list == 1)
        of(to)->kept = ((const struct state *)from)->kept;
}

static void digest(const struct v1_packet *packet, uint32_t number, uint64_t *words) {
    (void)number;
    words[0] = ((const struct state *)packet)->word[5];
    words[1] = ((const struct state *)packet)->word[6];
    words[2] = packet->standard.ingress_port;
}

static uint64_t choose(const struct v1_packet *packet) {
    return ((const struct state *)packet)->word[6];
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const uint32_t narrow[] = {48}, wide[] = {9, 100};
static const char *const names1[] = {"a"}, *const names2[] = {"a", "b"};
static const struct v1_action actions[] = {
    {"nothing", 0, 0, NULL, NULL}, {"one", 1, 1, narrow, names1}, {"two", 2, 2, wide, names2}};
static const uint32_t all[] = {0, 1, 2}, only_one[] = {1};

static const struct v1_field exact[] = {{"a", V1_EXACT, 48, 0, 0}, {"b", V1_EXACT, 16, 0, 48}};
static const struct v1_field lpm[] = {{"tag", V1_EXACT, 8, 0, 0}, {"to", V1_LPM, 32, 0, 8}};
static const struct v1_field ternary[] = {
    {"a", V1_TERNARY, 16, 0, 0}, {"b", V1_TERNARY, 16, 0, 16}, {"c", V1_EXACT, 4, 0, 32}};
static const struct v1_field range[] = {
    {"low", V1_RANGE, 16, 0, 0}, {"t", V1_TERNARY, 8, 0, 16}, {"high", V1_RANGE, 40, 0, 24}};
static const struct v1_field wide_range[] = {{"w", V1_RANGE, 100, 0, 0}};
static const struct v1_field wide_ternary[] = {{"w", V1_TERNARY, 128, 0, 0}};
static const struct v1_field set[] = {{"t", V1_EXACT, 16, 0, 0}};

static const uint64_t const_values[][1] = {{5}, {4}}, const_masks[][1] = {{0xffff}, {0xfffe}};
static const uint64_t const_args[] = {7};
static const struct v1_const_entry const_entries[] = {
    {const_values[0], const_masks[0], 2, 1, const_args},
    {const_values[1], const_masks[1], 1, 0, NULL}};
static const struct v1_field constant[] = {{"a", V1_TERNARY, 16, 0, 0}};

#define TABLE(n, m, f, words)                                                                      \
    .name = n, .match = m, .fields = COUNT_OF(f), .field = f, .key_words = words, .size = 1024,    \
    .actions = 3, .action = all, .default_action = V1_NO_ACTION, .profile = V1_NONE

static const struct v1_table_info tables[TABLES] = {
    {TABLE("exact", V1_EXACT, exact, 1), .direct_counter = true, .support_timeout = true},
    {TABLE("lpm", V1_LPM, lpm, 1)},
    {TABLE("ternary", V1_TERNARY, ternary, 1), .direct_meter = 1 + V1_PACKETS},
    {TABLE("range", V1_RANGE, range, 1)},
    {TABLE("wide_range", V1_RANGE, wide_range, 2)},
    {TABLE("wide_ternary", V1_TERNARY, wide_ternary, 2)},
    {TABLE("indirect", V1_EXACT, set, 1), .profile = 0},
    {TABLE("constant", V1_TERNARY, constant, 1), .const_entries = true, .entries = 2,
     .entry = const_entries},
    {.name = "keyless",
     .match = V1_EXACT,
     .size = 1,
     .actions = 1,
     .action = only_one,
     .default_action = 1,
     .default_args = const_args,
     .profile = V1_NONE},
};

static const struct v1_table_info value_sets[] = {{.name = "set",
                                                   .match = V1_EXACT,
                                                   .fields = 1,
                                                   .field = set,
                                                   .key_words = 1,
                                                   .size = 4,
                                                   .default_action = V1_NO_ACTION,
                                                   .profile = V1_NONE}};
static const struct v1_profile_info profiles[] = {{"profile", 0, 64, choose}};
static const struct v1_register_info registers[] = {
    {"bits", 0, 1, 8}, {"r9", 1, 9, 8}, {"r32", 2, 32, 8}, {"r48", 3, 48, 8}, {"r100", 4, 100, 8}};
static const struct v1_counter_info counters[] = {{"counter", 0, 4}};
static const struct v1_meter_info meters[] = {{"packets", 0, V1_PACKETS, 2},
                                              {"bytes", 1, V1_BYTES, 2}};
static const uint32_t digest_widths[] = {64, 64, 9};
static const struct v1_digest_info digests[] = {{"digest", 0, 3, digest_widths, 3}};

const struct v1_program v1_program = {V1_ABI,
                                      "bare",
                                      sizeof(struct state),
                                      64,
                                      COUNT_OF(actions),
                                      actions,
                                      COUNT_OF(tables),
                                      tables,
                                      COUNT_OF(profiles),
                                      profiles,
                                      COUNT_OF(registers),
                                      registers,
                                      COUNT_OF(counters),
                                      counters,
                                      COUNT_OF(meters),
                                      meters,
                                      COUNT_OF(digests),
                                      digests,
                                      COUNT_OF(value_sets),
                                      value_sets,
                                      reset,
                                      reset_metadata,
                                      parse,
                                      ingress,
                                      egress,
                                      deparse,
                                      copy_fields,
                                      digest};
