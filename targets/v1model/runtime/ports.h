/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: interfaces, their sockets and queues. Shared by ports.c, transmit.c and loop.c. */
#ifndef GRASP_V1_PORTS_H
#define GRASP_V1_PORTS_H

#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>
#include "switch.h"

#define V1_PORTS 512
#define V1_BATCH 64 /* frames per system call */

/* Frames that were written and wait for the socket. A ring: `first` was written first. */
struct v1_frames {
    uint8_t *buffers;
    size_t stride;
    uint32_t first, count;
    struct iovec pieces[V1_BATCH];
    struct mmsghdr messages[V1_BATCH];
};

/* Packets before egress, one ring per priority; a packet is a state and its payload. */
struct v1_queue {
    uint8_t *slots;
    uint32_t first, count;
};

struct v1_port {
    uint32_t number;
    char name[IFNAMSIZ];
    int index; /* of the interface; 0: it is gone */
    bool up;
    int receive, send; /* sockets, or -1 */
    uint32_t mtu;
    uint8_t *ring; /* of `receive` */
    uint32_t slots, slot_bytes, next_slot;
    bool blocked;   /* the send buffer is full: wait until it is writable */
    uint64_t retry; /* blocked by the interface's queue: try again then; 0: not so */
    struct v1_frames frames;
    struct v1_queue *queues;
    uint32_t queued; /* in all queues */
    FILE *pcap_in, *pcap_out;
    struct v1_port_counts counts;
    bool dirty; /* on the list of ports with frames to send */
};

struct v1_ports {
    struct v1_port *port[V1_PORTS];
    struct v1_port *dirty[V1_PORTS];
    uint32_t dirty_count;
    uint32_t queued; /* packets in all queues of all ports */
    int epoll;
    int stop; /* eventfd: the loop is to end */
    int link; /* netlink socket: interfaces changed */
    pthread_t thread;
    bool running;
    bool saturated; /* a port waits for `retry` */
};

/* ports.c */
void v1_port_check(struct v1_switch *sw, struct v1_port *port);
void v1_port_close(struct v1_switch *sw, struct v1_port *port);

/* transmit.c */
int v1_frames_create(struct v1_frames *frames, size_t stride);
void v1_frames_destroy(struct v1_frames *frames);
void v1_flush(struct v1_switch *sw, struct v1_port *port);
void v1_writable(struct v1_switch *sw, struct v1_port *port); /* go on after `blocked` */
void v1_queues_clear(struct v1_switch *sw, struct v1_port *port);

/* receive.c */
int v1_ring_create(struct v1_port *port, uint32_t mtu);
void v1_ring_destroy(struct v1_port *port);
void v1_receive(struct v1_switch *sw, struct v1_port *port); /* take in a batch at most */

/* pcap.c */
FILE *v1_pcap_open(const char *folder, const char *name, const char *direction);
void v1_pcap_write(FILE *file, const uint8_t *data, uint32_t length);

/* loop.c */
int v1_watch(struct v1_switch *sw, struct v1_port *port);

#endif
