/* SPDX-License-Identifier: Apache-2.0 */
/* The way in: a batch of frames from a port's socket, each made whole again. The kernel takes VLAN
 * tags off and leaves checksums to hardware that a virtual link does not have; both are put right
 * here, so that a program sees what would be on a wire. */
#include <errno.h>
#include <stdlib.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include "ports.h"

#define TAG 4 /* bytes of a VLAN tag, room for which is kept in front of each frame */

/* Buffers are not a power of two apart: that would put them all in the same cache sets. */
#define STRIDE (V1_MAX_PACKET + V1_SLACK + 2 * 64 + 64)
#define HEAD 64

struct v1_receiver {
    struct mmsghdr messages[V1_BATCH];
    struct iovec pieces[V1_BATCH][2];
    struct virtio_net_hdr offloads[V1_BATCH];
    _Alignas(struct cmsghdr) uint8_t notes[V1_BATCH][64];
    uint8_t *buffers;
};

struct v1_receiver *v1_receiver_create(void) {
    struct v1_receiver *receiver = calloc(1, sizeof(*receiver));
    if (!receiver || !(receiver->buffers = calloc(V1_BATCH, STRIDE))) {
        free(receiver);
        return NULL;
    }
    for (uint32_t i = 0; i < V1_BATCH; i++) {
        struct msghdr *message = &receiver->messages[i].msg_hdr;
        receiver->pieces[i][0] =
            (struct iovec){&receiver->offloads[i], sizeof(receiver->offloads[i])};
        receiver->pieces[i][1] =
            (struct iovec){receiver->buffers + i * STRIDE + HEAD, V1_MAX_PACKET};
        message->msg_iov = receiver->pieces[i];
        message->msg_iovlen = 2;
        message->msg_control = receiver->notes[i];
    }
    return receiver;
}

void v1_receiver_destroy(struct v1_receiver *receiver) {
    if (receiver)
        free(receiver->buffers);
    free(receiver);
}

static const struct tpacket_auxdata *auxiliary(struct msghdr *message) {
    struct cmsghdr *note = CMSG_FIRSTHDR(message);
    for (; note; note = CMSG_NXTHDR(message, note))
        if (note->cmsg_level == SOL_PACKET && note->cmsg_type == PACKET_AUXDATA)
            return (const struct tpacket_auxdata *)CMSG_DATA(note);
    return NULL;
}

/* The checksum field holds the pseudo header's sum; what follows it was left to the hardware. */
static void complete_checksum(const struct virtio_net_hdr *offload, uint8_t *data,
                              uint32_t length) {
    uint32_t start = offload->csum_start, field = start + offload->csum_offset;
    if (!(offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || field + 2 > length)
        return;
    uint16_t sum = v1_checksum(data + start, length - start, data, 0);
    sum = sum ? sum : 0xffff; /* 0 means "none" in UDP; both are right in TCP */
    data[field] = (uint8_t)(sum >> 8);
    data[field + 1] = (uint8_t)sum;
}

static uint8_t *insert_tag(const struct tpacket_auxdata *note, uint8_t *data, uint32_t *length) {
    uint16_t type = note->tp_status & TP_STATUS_VLAN_TPID_VALID ? note->tp_vlan_tpid : 0x8100;
    if (*length < 12)
        return data;
    memmove(data - TAG, data, 12);
    data -= TAG;
    data[12] = (uint8_t)(type >> 8);
    data[13] = (uint8_t)type;
    data[14] = (uint8_t)(note->tp_vlan_tci >> 8);
    data[15] = (uint8_t)note->tp_vlan_tci;
    *length += TAG;
    return data;
}

static void take(struct v1_switch *sw, struct v1_receiver *receiver, struct v1_port *port,
                 uint32_t i) {
    struct msghdr *message = &receiver->messages[i].msg_hdr;
    uint8_t *data = receiver->buffers + i * STRIDE + HEAD;
    uint32_t length = receiver->messages[i].msg_len;
    if (length < sizeof(receiver->offloads[i]) || message->msg_flags & MSG_TRUNC) {
        port->counts.rx_truncated++;
        return;
    }
    length -= sizeof(receiver->offloads[i]);
    complete_checksum(&receiver->offloads[i], data, length);
    const struct tpacket_auxdata *note = auxiliary(message);
    if (note && note->tp_status & TP_STATUS_VLAN_VALID)
        data = insert_tag(note, data, &length);
    port->counts.rx_packets++;
    port->counts.rx_bytes += length;
    if (port->pcap_in)
        v1_pcap_write(port->pcap_in, data, length);
    if (sw->context && length <= V1_MAX_PACKET)
        v1_run(sw, port->number, data, length);
}

bool v1_receive(struct v1_switch *sw, struct v1_receiver *receiver, struct v1_port *port) {
    for (uint32_t i = 0; i < V1_BATCH; i++)
        receiver->messages[i].msg_hdr.msg_controllen = sizeof(receiver->notes[i]);
    int count = recvmmsg(port->receive, receiver->messages, V1_BATCH, MSG_DONTWAIT, NULL);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR)
            v1_port_check(sw, port);
        return false;
    }
    for (uint32_t i = 0; i < (uint32_t)count; i++)
        take(sw, receiver, port, i);
    if (port->pcap_in)
        fflush(port->pcap_in);
    return count > 0;
}
