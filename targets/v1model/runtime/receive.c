/* SPDX-License-Identifier: Apache-2.0 */
/* The way in: a ring of frames that the kernel shares with us, so that nothing is copied and no
 * system call is made for a frame. The kernel takes VLAN tags off, and leaves checksums to hardware
 * that a virtual link does not have; both are put right here, so that a program sees what would be
 * on a wire. */
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <sys/mman.h>
#include "ports.h"

#define RING_BYTES (4u << 20) /* rides out the time slices of a shared processor */
#define BLOCK_BYTES (128u << 10)
#define TAG 4           /* bytes of a VLAN tag */
#define OVERHEAD 256    /* in a slot beside a frame: the kernel's header, link headers, slack */
#define LEAST_SLOT 2048 /* bytes: a frame of the usual MTU */

int v1_ring_create(struct v1_port *port, uint32_t mtu) {
    const int version = TPACKET_V2;
    uint32_t slot = LEAST_SLOT;
    while (slot < mtu + OVERHEAD)
        slot *= 2;
    struct tpacket_req request = {
        .tp_block_size = slot > BLOCK_BYTES ? slot : BLOCK_BYTES,
        .tp_frame_size = slot,
        .tp_frame_nr = RING_BYTES / slot,
    };
    request.tp_block_nr = RING_BYTES / request.tp_block_size;
    if (setsockopt(port->receive, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
        setsockopt(port->receive, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) < 0)
        return V1_SYSTEM;
    port->ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, port->receive, 0);
    if (port->ring == MAP_FAILED) {
        port->ring = NULL;
        return V1_SYSTEM;
    }
    port->slot_bytes = slot;
    port->slots = request.tp_frame_nr;
    port->next_slot = 0;
    return 0;
}

void v1_ring_destroy(struct v1_port *port) {
    if (port->ring)
        munmap(port->ring, RING_BYTES);
    port->ring = NULL;
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

static uint8_t *insert_tag(const struct tpacket2_hdr *head, uint8_t *data, uint32_t *length) {
    uint16_t type = head->tp_status & TP_STATUS_VLAN_TPID_VALID ? head->tp_vlan_tpid : 0x8100;
    if (*length < 12)
        return data;
    memmove(data - TAG, data, 12);
    data -= TAG;
    data[12] = (uint8_t)(type >> 8);
    data[13] = (uint8_t)type;
    data[14] = (uint8_t)(head->tp_vlan_tci >> 8);
    data[15] = (uint8_t)head->tp_vlan_tci;
    *length += TAG;
    return data;
}

static void too_long(struct v1_switch *sw, struct v1_port *port, uint32_t length) {
    if (port->counts.rx_truncated++ == 0)
        v1_log(
            sw, V1_WARNING,
            "port %u: a frame of %u bytes, longer than the MTU of %s, was dropped (said once; if "
            "the other side leaves segmentation to its device: ethtool -K ... tso off gso off)",
            port->number, length, port->name);
}

static void take(struct v1_switch *sw, struct v1_port *port, struct tpacket2_hdr *head) {
    uint8_t *data = (uint8_t *)head + head->tp_mac;
    uint32_t length = head->tp_len, tag = head->tp_status & TP_STATUS_VLAN_VALID ? TAG : 0;
    struct virtio_net_hdr offload;
    if (head->tp_snaplen < length || length + tag > V1_MAX_PACKET ||
        head->tp_mac + length + V1_SLACK > port->slot_bytes) {
        too_long(sw, port, length);
        return;
    }
    memcpy(&offload, data - sizeof(offload), sizeof(offload));
    complete_checksum(&offload, data, length);
    if (tag)
        data = insert_tag(head, data, &length);
    port->counts.rx_packets++;
    port->counts.rx_bytes += length;
    if (port->pcap_in)
        v1_pcap_write(port->pcap_in, data, length);
    if (sw->context)
        v1_run(sw, port->number, data, length);
}

void v1_receive(struct v1_switch *sw, struct v1_port *port) {
    for (uint32_t i = 0; i < V1_BATCH && port->ring; i++) {
        struct tpacket2_hdr *head =
            (struct tpacket2_hdr *)(port->ring + (size_t)port->next_slot * port->slot_bytes);
        if (!(__atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
            break;
        take(sw, port, head);
        __atomic_store_n(&head->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        if (++port->next_slot == port->slots)
            port->next_slot = 0;
    }
    if (port->pcap_in)
        fflush(port->pcap_in);
}
