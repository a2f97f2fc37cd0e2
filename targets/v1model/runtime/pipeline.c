/* SPDX-License-Identifier: Apache-2.0 */
/* One packet through the pipeline: parser, ingress, what is asked for at its end, egress, deparser.
 *
 * The order of things is simple_switch's: at the end of ingress clone, digest, resubmit, multicast,
 * drop, unicast; at the end of egress clone, drop, recirculate, send. Copies wait for egress in the
 * order in which they were made, recirculated packets until all copies are gone. */
#include <stdlib.h>
#include "switch.h"

#define RECIRCULATED 256 /* packets that wait for ingress at a time */

static const uint64_t mask32 = UINT32_MAX, mask48 = (UINT64_C(1) << 48) - 1;

int v1_work_create(struct v1_work *work, const struct v1_program *program) {
    *work = (struct v1_work){0};
    work->state_bytes = (program->state_bytes + 63) / 64 * 64;
    work->pending_bytes = sizeof(struct v1_pending) + work->state_bytes;
    work->buffer_bytes = (V1_MAX_PACKET + program->header_bytes + V1_SLACK + 63) / 64 * 64;
    work->states = aligned_alloc(64, 3 * work->state_bytes);
    work->copies = aligned_alloc(64, V1_COPIES * work->pending_bytes);
    work->recirculated = aligned_alloc(64, RECIRCULATED * (work->state_bytes + work->buffer_bytes));
    work->scratch = aligned_alloc(64, work->buffer_bytes);
    if (!work->states || !work->copies || !work->recirculated || !work->scratch) {
        v1_work_destroy(work);
        return V1_NO_MEMORY;
    }
    memset(work->states, 0, 3 * work->state_bytes);
    return 0;
}

void v1_work_destroy(struct v1_work *work) {
    free(work->states);
    free(work->copies);
    free(work->recirculated);
    free(work->scratch);
    *work = (struct v1_work){0};
}

/* ---- states */

static void prepare(struct v1_packet *packet, struct v1_context *context, const uint8_t *data,
                    uint32_t length) {
    packet->context = context;
    packet->data = data;
    packet->length = length;
    packet->parsed = 0;
    packet->received = length;
    packet->current = length;
    packet->truncated = UINT32_MAX;
    packet->requests = (struct v1_requests){0};
    packet->standard = (struct v1_standard){0};
    context->program->reset(packet);
}

/* Metadata of a copy: all zero but the fields of a list and the instance type. */
static void carry_over(struct v1_packet *copy, const struct v1_packet *from, uint32_t list,
                       enum v1_instance instance) {
    const struct v1_program *program = from->context->program;
    copy->standard = (struct v1_standard){0};
    program->reset_metadata(copy);
    program->copy_fields(copy, from, list);
    copy->standard.instance_type = instance;
    copy->requests = (struct v1_requests){0};
}

static struct v1_packet *clone_state(const struct v1_work *work) {
    return (struct v1_packet *)(work->states + 2 * work->state_bytes);
}

/* A place among the copies that wait for egress; NULL, counted, if there are too many. */
static struct v1_packet *new_copy(struct v1_switch *sw, uint32_t port) {
    struct v1_work *work = &sw->work;
    if (work->last == V1_COPIES) {
        sw->counts.dropped_loop++;
        return NULL;
    }
    struct v1_pending *pending =
        (struct v1_pending *)(work->copies + work->last++ * work->pending_bytes);
    pending->port = port;
    return (struct v1_packet *)pending->state;
}

/* A copy does not keep what `truncate` asked of its original, as in BMv2. */
static void copy_to(struct v1_switch *sw, const struct v1_packet *packet,
                    const struct v1_replicas *replicas, uint32_t longest) {
    for (uint32_t i = 0; i < replicas->count; i++) {
        struct v1_packet *copy = new_copy(sw, replicas->replica[i].port);
        if (!copy)
            return;
        memcpy(copy, packet, sw->context->program->state_bytes);
        copy->requests = (struct v1_requests){0};
        copy->truncated = longest;
        copy->standard.egress_rid = replicas->replica[i].instance;
    }
}

static const struct v1_session *session_of(struct v1_switch *sw, const struct v1_packet *packet) {
    const struct v1_session *session =
        sw->context->replication->sessions[packet->requests.clone_session % V1_SESSIONS];
    if (!session)
        sw->counts.no_clone_session++;
    return session;
}

/* Send a clone, complete but for what the session says, to the session's ports. */
static void to_session(struct v1_switch *sw, struct v1_packet *clone,
                       const struct v1_session *session) {
    uint32_t best = sw->options.queues - 1;
    clone->standard.priority = session->class_of_service < best ? session->class_of_service : best;
    copy_to(sw, clone, &session->replicas,
            session->packet_length ? session->packet_length : UINT32_MAX);
}

/* ---- end of egress */

static void clone_egress(struct v1_switch *sw, const struct v1_packet *packet) {
    const struct v1_session *session = session_of(sw, packet);
    struct v1_packet *clone = clone_state(&sw->work);
    if (!session)
        return;
    memcpy(clone, packet, sw->context->program->state_bytes);
    carry_over(clone, packet, packet->requests.clone_list, V1_EGRESS_CLONE);
    to_session(sw, clone, session);
}

/* Headers and payload; returns the length. */
static uint32_t write_packet(struct v1_packet *packet, uint8_t *out) {
    size_t head = packet->context->program->deparse(packet, out);
    size_t payload = packet->length - packet->parsed;
    memcpy(out + head, packet->data + packet->parsed, payload);
    return (uint32_t)(head + payload);
}

static void recirculate(struct v1_switch *sw, struct v1_packet *packet) {
    struct v1_work *work = &sw->work;
    if (work->recirculated_last - work->recirculated_first == RECIRCULATED) {
        sw->counts.dropped_loop++;
        return;
    }
    uint8_t *place = work->recirculated + work->recirculated_last % RECIRCULATED *
                                              (work->state_bytes + work->buffer_bytes);
    struct v1_packet *again = (struct v1_packet *)place;
    uint8_t *data = place + work->state_bytes;
    uint32_t length = write_packet(packet, data);
    if (length > V1_MAX_PACKET) {
        sw->counts.dropped_too_long++;
        return;
    }
    prepare(again, packet->context, data, length);
    packet->context->program->copy_fields(again, packet, packet->requests.recirculate_list);
    again->standard.instance_type = V1_RECIRCULATED;
    again->standard.packet_length = length;
    work->recirculated_last++;
}

/* ---- egress */

static void egress_now(struct v1_switch *sw, struct v1_packet *packet, uint32_t port) {
    struct v1_context *context = packet->context;
    struct v1_standard *standard = &packet->standard;
    standard->egress_global_timestamp = context->now & mask48;
    standard->deq_timedelta = (context->now - standard->enq_timestamp) & mask32;
    standard->egress_port = port;
    standard->egress_spec = (context->drop_port + 1) & 0x1ff;
    standard->packet_length = packet->current;
    packet->requests.exit = false;
    context->program->egress(packet);
    if (packet->requests.clone)
        clone_egress(sw, packet);
    if (standard->egress_spec == context->drop_port || packet->requests.failed) {
        sw->counts.dropped_egress++;
    } else if (packet->requests.recirculate) {
        recirculate(sw, packet);
    } else {
        uint8_t *out = sw->sink->room(sw, port);
        uint32_t length = out ? write_packet(packet, out) : 0;
        if (out)
            sw->sink->sent(sw, port, length < packet->truncated ? length : packet->truncated);
    }
}

static void egress(struct v1_switch *sw, struct v1_packet *packet, uint32_t port) {
    struct v1_standard *standard = &packet->standard;
    if (standard->priority >= sw->options.queues) {
        sw->counts.dropped_priority++;
        return;
    }
    standard->enq_timestamp = packet->context->now & mask32;
    standard->enq_qdepth = 0;
    standard->deq_qdepth = 0;
    standard->qid = standard->priority;
    if (!sw->sink->hold || !sw->sink->hold(sw, packet, port))
        egress_now(sw, packet, port);
}

static void drain(struct v1_switch *sw) {
    struct v1_work *work = &sw->work;
    while (work->first < work->last) {
        struct v1_pending *pending =
            (struct v1_pending *)(work->copies + work->first++ * work->pending_bytes);
        egress(sw, (struct v1_packet *)pending->state, pending->port);
    }
    work->first = work->last = 0;
}

/* ---- end of ingress */

/* The clone is the packet as it came into ingress, parsed anew, with metadata as ingress left it.
 */
static void clone_ingress(struct v1_switch *sw, const struct v1_packet *packet) {
    const struct v1_session *session = session_of(sw, packet);
    struct v1_work *work = &sw->work;
    struct v1_packet *clone = clone_state(work);
    if (!session)
        return;
    prepare(clone, packet->context, packet->data, packet->length);
    clone->received = packet->received;
    clone->standard.ingress_port = work->port;
    packet->context->program->parse(clone);
    carry_over(clone, packet, packet->requests.clone_list, V1_INGRESS_CLONE);
    clone->current = packet->length;
    to_session(sw, clone, session);
}

static void multicast(struct v1_switch *sw, struct v1_packet *packet) {
    const struct v1_replicas *replicas =
        sw->context->replication->groups[packet->standard.mcast_grp % V1_GROUPS];
    packet->standard.instance_type = V1_REPLICATED;
    if (replicas)
        copy_to(sw, packet, replicas, UINT32_MAX);
    else
        sw->counts.no_multicast_group++;
}

static void unicast(struct v1_switch *sw, struct v1_packet *packet, uint32_t port) {
    packet->standard.instance_type = V1_NORMAL;
    if (sw->work.first == sw->work.last) {
        egress(sw, packet, port);
        return;
    }
    struct v1_packet *copy = new_copy(sw, port); /* behind its clones */
    if (copy)
        memcpy(copy, packet, sw->context->program->state_bytes);
}

/* Turn the packet back into what came into ingress, with the fields of the list. */
static struct v1_packet *resubmitted(struct v1_switch *sw, struct v1_packet *packet) {
    struct v1_work *work = &sw->work;
    struct v1_packet *again = (struct v1_packet *)work->states;
    if (again == packet)
        again = (struct v1_packet *)(work->states + work->state_bytes);
    prepare(again, packet->context, packet->data, packet->length);
    again->received = packet->received;
    packet->context->program->copy_fields(again, packet, packet->requests.resubmit_list);
    again->standard.instance_type = V1_RESUBMITTED;
    again->standard.packet_length = packet->length;
    return again;
}

static void ingress(struct v1_switch *sw, struct v1_packet *packet) {
    struct v1_context *context = packet->context;
    for (;;) {
        if (++sw->work.passes > V1_PASSES) {
            sw->counts.dropped_loop++;
            return;
        }
        context->program->parse(packet);
        context->program->ingress(packet);
        const struct v1_requests requests = packet->requests;
        if (requests.clone)
            clone_ingress(sw, packet);
        packet->requests.clone = false;
        if (requests.digest)
            v1_learn(packet, requests.digest - 1);
        if (!requests.resubmit)
            break;
        drain(sw);
        packet = resubmitted(sw, packet);
    }
    if (packet->standard.mcast_grp && !packet->requests.failed)
        multicast(sw, packet);
    else if (packet->standard.egress_spec == context->drop_port || packet->requests.failed)
        sw->counts.dropped_ingress++;
    else
        unicast(sw, packet, (uint32_t)packet->standard.egress_spec);
    drain(sw);
}

static void finish(struct v1_switch *sw) {
    struct v1_work *work = &sw->work;
    drain(sw);
    while (work->recirculated_first != work->recirculated_last) {
        ingress(sw, (struct v1_packet *)(work->recirculated +
                                         work->recirculated_first % RECIRCULATED *
                                             (work->state_bytes + work->buffer_bytes)));
        work->recirculated_first++;
    }
    work->recirculated_first = work->recirculated_last = 0;
}

void v1_run(struct v1_switch *sw, uint32_t port, const uint8_t *data, uint32_t length) {
    struct v1_packet *packet = (struct v1_packet *)sw->work.states;
    sw->counts.received++;
    sw->work.passes = 0;
    sw->work.port = port;
    prepare(packet, sw->context, data, length);
    packet->standard.ingress_port = port;
    packet->standard.packet_length = length;
    packet->standard.ingress_global_timestamp = sw->context->now & mask48;
    ingress(sw, packet);
    finish(sw);
}

/* The rest of the way of a packet that a port's queue held back. */
void v1_release(struct v1_switch *sw, struct v1_packet *packet, uint32_t port) {
    sw->work.passes = 0;
    egress_now(sw, packet, port);
    finish(sw);
}
