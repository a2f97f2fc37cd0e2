/* SPDX-License-Identifier: Apache-2.0 */
/* The way out of a port. Packets run through egress and are written to a batch of frames; while the
 * socket takes no more, packets wait before egress in the port's queue, which drops at its tail. So
 * a program sees the queue's depth, and the interface's pace is the port's. */
#include <errno.h>
#include <stdlib.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include "ports.h"

#define RETRY 1000 /* microseconds until a frame is offered again that the interface refused */

int v1_frames_create(struct v1_frames *frames, size_t stride) {
    *frames = (struct v1_frames){.stride = stride};
    frames->buffers = malloc(V1_BATCH * stride);
    if (!frames->buffers)
        return V1_NO_MEMORY;
    for (uint32_t i = 0; i < V1_BATCH; i++) {
        frames->pieces[i].iov_base = frames->buffers + i * stride;
        frames->messages[i].msg_hdr.msg_iov = &frames->pieces[i];
        frames->messages[i].msg_hdr.msg_iovlen = 1;
    }
    return 0;
}

void v1_frames_destroy(struct v1_frames *frames) {
    free(frames->buffers);
    frames->buffers = NULL;
}

static void drop_first(struct v1_frames *frames, uint32_t count) {
    frames->first = (frames->first + count) % V1_BATCH;
    frames->count -= count;
}

static void watch_writable(struct v1_switch *sw, struct v1_port *port, bool watch) {
    struct epoll_event event = {.events = watch ? EPOLLOUT : 0,
                                .data.u32 = V1_PORTS + port->number};
    epoll_ctl(sw->ports->epoll, EPOLL_CTL_MOD, port->send, &event);
}

/* Whether frames of ours wait in the interface's queue. If so, ENOBUFS says that it is full; if
 * not, that the frame was dropped (by a link that is down, or whose other end has a smaller MTU).
 */
static bool queue_is_full(const struct v1_port *port) {
    int bytes = 0;
    return ioctl(port->send, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* The first frame could not be sent: wait, or drop it and count why. */
static void refused(struct v1_switch *sw, struct v1_port *port, int error) {
    switch (error) {
    case EAGAIN:
        port->blocked = true;
        watch_writable(sw, port, true);
        return;
    case ENOBUFS: /* no event will tell that the queue has room again */
        if (!queue_is_full(port)) {
            port->counts.tx_errors++;
            break;
        }
        port->blocked = true;
        port->retry = v1_now(sw) + RETRY;
        sw->ports->saturated = true;
        return;
    case EMSGSIZE:
        if (port->counts.tx_too_long++ == 0)
            v1_log(
                sw, V1_WARNING,
                "port %u: a frame of %zu bytes is longer than the MTU of %s allows; dropped "
                "(said once; segmentation offloads on the other side? ethtool -K ... tso off gso "
                "off gro off)",
                port->number, port->frames.pieces[port->frames.first].iov_len, port->name);
        break;
    case EINVAL:
        port->counts.tx_too_short++;
        break;
    default:
        port->counts.tx_errors++;
    }
    drop_first(&port->frames, 1);
}

void v1_flush(struct v1_switch *sw, struct v1_port *port) {
    struct v1_frames *frames = &port->frames;
    while (frames->count && !port->blocked) {
        uint32_t run = V1_BATCH - frames->first;
        run = run < frames->count ? run : frames->count;
        if (port->send < 0) {
            port->counts.tx_errors += run;
            drop_first(frames, run);
            continue;
        }
        int sent = sendmmsg(port->send, &frames->messages[frames->first], run, MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            refused(sw, port, errno);
            continue;
        }
        for (uint32_t i = 0; i < (uint32_t)sent; i++) {
            const struct iovec *piece = &frames->pieces[frames->first + i];
            port->counts.tx_bytes += piece->iov_len;
            if (port->pcap_out)
                v1_pcap_write(port->pcap_out, piece->iov_base, (uint32_t)piece->iov_len);
        }
        port->counts.tx_packets += (uint32_t)sent;
        drop_first(frames, (uint32_t)sent);
    }
    if (port->pcap_out)
        fflush(port->pcap_out);
}

/* ---- the queue before egress */

static size_t slot_bytes(const struct v1_switch *sw) {
    return sw->work.state_bytes + V1_MAX_PACKET + V1_SLACK;
}

static struct v1_packet *slot(const struct v1_switch *sw, const struct v1_queue *queue,
                              uint32_t at) {
    return (struct v1_packet *)(queue->slots + at % sw->options.queue_depth * slot_bytes(sw));
}

static bool hold(struct v1_switch *sw, struct v1_packet *packet, uint32_t number) {
    struct v1_port *port = number < V1_PORTS ? sw->ports->port[number] : NULL;
    if (!port)
        return false;
    if (port->frames.count == V1_BATCH)
        v1_flush(sw, port);
    if (!port->blocked && !port->queued)
        return false;
    struct v1_queue *queue = &port->queues[packet->standard.priority];
    if (!queue->slots)
        queue->slots = malloc(sw->options.queue_depth * slot_bytes(sw));
    if (!queue->slots || queue->count == sw->options.queue_depth) {
        port->counts.tx_queue_full++;
        return true;
    }
    packet->standard.enq_qdepth = queue->count;
    struct v1_packet *held = slot(sw, queue, queue->first + queue->count);
    uint8_t *payload = (uint8_t *)held + sw->work.state_bytes;
    memcpy(held, packet, sw->context->program->state_bytes);
    held->length = packet->length - packet->parsed;
    held->parsed = 0;
    held->data = payload;
    memcpy(payload, packet->data + packet->parsed, held->length);
    queue->count++;
    port->queued++;
    sw->ports->queued++;
    return true;
}

void v1_queues_clear(struct v1_switch *sw, struct v1_port *port) {
    for (uint32_t i = 0; i < sw->options.queues; i++) {
        free(port->queues[i].slots);
        port->queues[i] = (struct v1_queue){0};
    }
    sw->ports->queued -= port->queued;
    port->queued = 0;
}

/* Packets that waited go on, the highest priority first, until the socket is full again. */
static void release(struct v1_switch *sw, struct v1_port *port) {
    uint32_t priority = sw->options.queues;
    while (priority-- > 0) {
        struct v1_queue *queue = &port->queues[priority];
        while (queue->count) {
            if (port->frames.count == V1_BATCH)
                v1_flush(sw, port);
            if (port->blocked)
                return;
            struct v1_packet *packet = slot(sw, queue, queue->first);
            queue->count--;
            port->queued--;
            sw->ports->queued--;
            packet->standard.deq_qdepth = queue->count;
            v1_release(sw, packet, port->number);
            queue->first = (queue->first + 1) % sw->options.queue_depth;
        }
    }
}

void v1_writable(struct v1_switch *sw, struct v1_port *port) {
    if (port->blocked && !port->retry)
        watch_writable(sw, port, false);
    port->blocked = false;
    port->retry = 0;
    v1_flush(sw, port);
    release(sw, port);
    v1_flush(sw, port);
}

/* ---- the sink of packets that come in at ports */

static uint8_t *room(struct v1_switch *sw, uint32_t number) {
    if (number == sw->options.cpu_port)
        return sw->work.scratch;
    struct v1_port *port = number < V1_PORTS ? sw->ports->port[number] : NULL;
    if (!port) {
        sw->counts.dropped_no_port++;
        return NULL;
    }
    struct v1_frames *frames = &port->frames;
    if (frames->count == V1_BATCH)
        v1_flush(sw, port);
    if (frames->count == V1_BATCH) {
        port->counts.tx_queue_full++;
        return NULL;
    }
    return frames->buffers + (frames->first + frames->count) % V1_BATCH * frames->stride;
}

static void sent(struct v1_switch *sw, uint32_t number, uint32_t length) {
    if (number == sw->options.cpu_port) {
        v1_event(&sw->events, V1_PACKET_IN, number, 0, sw->work.scratch, length);
        return;
    }
    struct v1_port *port = sw->ports->port[number];
    struct v1_frames *frames = &port->frames;
    frames->pieces[(frames->first + frames->count++) % V1_BATCH].iov_len = length;
    if (!port->dirty) {
        port->dirty = true;
        sw->ports->dirty[sw->ports->dirty_count++] = port;
    }
}

const struct v1_sink v1_live = {hold, room, sent};

void v1_ports_flush(struct v1_switch *sw) {
    struct v1_ports *ports = sw->ports;
    for (uint32_t i = 0; i < ports->dirty_count; i++) {
        ports->dirty[i]->dirty = false;
        v1_flush(sw, ports->dirty[i]);
    }
    ports->dirty_count = 0;
}
