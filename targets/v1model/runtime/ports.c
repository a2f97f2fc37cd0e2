/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and their sockets. Receiving and sending have a socket each: the receiving one asks for
 * offload headers, which the sending one would then have to give. An interface that goes down or
 * vanishes keeps its port, which works again when the interface is back. Nothing about the
 * interface is changed: promiscuity ends with the socket. */
#include <errno.h>
#include <stdlib.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <unistd.h>
#include "ports.h"

int v1_ports_create(struct v1_switch *sw) {
    struct v1_ports *ports = calloc(1, sizeof(*ports));
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    if (!ports)
        return V1_NO_MEMORY;
    ports->epoll = epoll_create1(EPOLL_CLOEXEC);
    ports->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ports->link = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    bind(ports->link, (struct sockaddr *)&address, sizeof(address));
    struct epoll_event stop = {.events = EPOLLIN, .data.u32 = 2 * V1_PORTS};
    struct epoll_event link = {.events = EPOLLIN, .data.u32 = 2 * V1_PORTS + 1};
    epoll_ctl(ports->epoll, EPOLL_CTL_ADD, ports->stop, &stop);
    epoll_ctl(ports->epoll, EPOLL_CTL_ADD, ports->link, &link);
    sw->ports = ports;
    return 0;
}

static void free_port(struct v1_switch *sw, struct v1_port *port) {
    v1_port_close(sw, port);
    v1_queues_clear(sw, port);
    v1_frames_destroy(&port->frames);
    if (port->pcap_in)
        fclose(port->pcap_in);
    if (port->pcap_out)
        fclose(port->pcap_out);
    free(port->queues);
    free(port);
}

void v1_ports_destroy(struct v1_switch *sw) {
    for (uint32_t i = 0; i < V1_PORTS; i++)
        if (sw->ports->port[i])
            free_port(sw, sw->ports->port[i]);
    close(sw->ports->epoll);
    close(sw->ports->stop);
    close(sw->ports->link);
    free(sw->ports);
}

void v1_ports_reset(struct v1_switch *sw) {
    for (uint32_t i = 0; i < V1_PORTS; i++)
        if (sw->ports->port[i])
            v1_queues_clear(sw, sw->ports->port[i]);
}

/* ---- interfaces */

struct link {
    int index; /* 0: there is none */
    bool up;
    uint32_t mtu;
};

static struct link look_up(const char *name) {
    struct ifreq request = {0};
    struct link link = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(request.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
    if (fd < 0)
        return link;
    if (ioctl(fd, SIOCGIFINDEX, &request) == 0)
        link.index = request.ifr_ifindex;
    if (link.index && ioctl(fd, SIOCGIFFLAGS, &request) == 0)
        link.up = (request.ifr_flags & IFF_UP) && (request.ifr_flags & IFF_RUNNING);
    if (link.index && ioctl(fd, SIOCGIFMTU, &request) == 0)
        link.mtu = (uint32_t)request.ifr_mtu;
    close(fd);
    return link;
}

/* ---- sockets */

static int new_socket(void) {
    return socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static bool bind_socket(int fd, int index, uint16_t protocol) {
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = index};
    address.sll_protocol = htons(protocol);
    return bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

/* Everything is set up before the socket is bound: no frame takes another way than the ring. */
static bool set_up_receive(struct v1_port *port, const struct link *link) {
    const int on = 1, fd = port->receive;
    struct packet_mreq promiscuous = {.mr_ifindex = link->index, .mr_type = PACKET_MR_PROMISC};
    return setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) == 0 &&
           setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) == 0 &&
           setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous)) ==
               0 &&
           v1_ring_create(port, link->mtu) == 0 && bind_socket(fd, link->index, ETH_P_ALL);
}

static int open_port(struct v1_switch *sw, struct v1_port *port, const struct link *link) {
    port->receive = new_socket();
    port->send = new_socket();
    if (port->receive < 0 || port->send < 0 || !set_up_receive(port, link) ||
        !bind_socket(port->send, link->index, 0) || v1_watch(sw, port) < 0) {
        int error = errno;
        v1_port_close(sw, port);
        errno = error;
        return V1_SYSTEM;
    }
    port->index = link->index;
    port->mtu = link->mtu;
    return 0;
}

/* What the kernel had to drop because the loop came too late; reading sets it to zero. */
static void count_lost(struct v1_port *port) {
    struct tpacket_stats statistics;
    socklen_t length = sizeof(statistics);
    if (port->receive >= 0 &&
        getsockopt(port->receive, SOL_PACKET, PACKET_STATISTICS, &statistics, &length) == 0)
        port->counts.rx_lost += statistics.tp_drops;
}

void v1_port_close(struct v1_switch *sw, struct v1_port *port) {
    (void)sw;
    count_lost(port);
    v1_ring_destroy(port);
    if (port->receive >= 0)
        close(port->receive);
    if (port->send >= 0)
        close(port->send);
    port->receive = port->send = -1;
    port->index = 0;
    port->blocked = false;
    port->retry = 0;
}

void v1_port_check(struct v1_switch *sw, struct v1_port *port) {
    struct link link = look_up(port->name);
    socklen_t length = sizeof(int);
    int error;
    /* An error that nobody reads would wake the loop for ever. */
    getsockopt(port->receive, SOL_SOCKET, SO_ERROR, &error, &length);
    getsockopt(port->send, SOL_SOCKET, SO_ERROR, &error, &length);
    if (link.index != port->index || link.mtu > port->mtu) {
        v1_port_close(sw, port);
        if (link.index && open_port(sw, port, &link) < 0)
            link.up = false;
    }
    if (link.up == port->up)
        return;
    port->up = link.up;
    v1_log(sw, V1_INFO, "port %u (%s) is %s", port->number, port->name, link.up ? "up" : "down");
    v1_event(&sw->events, V1_PORT, port->number, link.up, "", 0);
    if (link.up || port->blocked)
        v1_writable(sw, port);
}

/* ---- what control.h offers */

static struct v1_port *new_port(struct v1_switch *sw, uint32_t number, const char *name) {
    struct v1_port *port = calloc(1, sizeof(*port));
    if (!port)
        return NULL;
    port->number = number;
    port->receive = port->send = -1;
    memcpy(port->name, name, strnlen(name, IFNAMSIZ - 1));
    port->queues = calloc(sw->options.queues, sizeof(port->queues[0]));
    /* Headers may grow a packet beyond V1_MAX_PACKET; no interface takes that, but it must fit. */
    if (!port->queues || v1_frames_create(&port->frames, 2 * V1_MAX_PACKET + 64) < 0) {
        free(port->queues);
        free(port);
        return NULL;
    }
    return port;
}

static int add_port(struct v1_switch *sw, uint32_t number, const char *name) {
    struct link link = look_up(name);
    if (!link.index)
        return V1_NOT_FOUND;
    struct v1_port *port = new_port(sw, number, name);
    if (!port)
        return V1_NO_MEMORY;
    int status = open_port(sw, port, &link);
    const char *folder = sw->options.pcap;
    if (status == 0 && folder) {
        port->pcap_in = v1_pcap_open(folder, name, "in");
        port->pcap_out = v1_pcap_open(folder, name, "out");
        status = port->pcap_in && port->pcap_out ? 0 : V1_SYSTEM;
    }
    if (status < 0) {
        int error = errno;
        free_port(sw, port);
        errno = error;
        return status;
    }
    port->up = link.up;
    sw->ports->port[number] = port;
    v1_event(&sw->events, V1_PORT, number, link.up, "", 0);
    return 0;
}

int v1_port_add(struct v1_switch *sw, uint32_t number, const char *name) {
    if (number >= V1_PORTS || number == sw->options.cpu_port || number == sw->options.drop_port)
        return V1_INVALID;
    v1_lock(sw);
    int status = sw->ports->port[number] ? V1_EXISTS : add_port(sw, number, name);
    int error = errno;
    v1_unlock(sw);
    errno = error;
    return status;
}

int v1_port_remove(struct v1_switch *sw, uint32_t number) {
    v1_lock(sw);
    struct v1_port *port = number < V1_PORTS ? sw->ports->port[number] : NULL;
    if (port) {
        sw->ports->port[number] = NULL;
        free_port(sw, port);
    }
    v1_unlock(sw);
    return port ? 0 : V1_NOT_FOUND;
}

int v1_port_list(struct v1_switch *sw, struct v1_port_info *infos, uint32_t room) {
    uint32_t count = 0;
    v1_lock(sw);
    for (uint32_t i = 0; i < V1_PORTS; i++) {
        struct v1_port *port = sw->ports->port[i];
        if (!port || count++ >= room)
            continue;
        struct v1_port_info *info = &infos[count - 1];
        count_lost(port);
        *info = (struct v1_port_info){.number = i, .up = port->up, .counts = port->counts};
        memcpy(info->name, port->name, sizeof(info->name));
    }
    v1_unlock(sw);
    return (int)count;
}
