/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that serves the ports: it waits for frames, room and time, and holds the switch's lock
 * while it handles what came. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "ports.h"

#define EVENTS 64
#define SECOND 1000000 /* microseconds */
#define PATIENCE 1000  /* times that the loop stands back for the control plane, at most */

/* Event numbers: port to receive, V1_PORTS + port to send, then the two below. */
#define STOP (2 * V1_PORTS)
#define LINK (2 * V1_PORTS + 1)

int v1_watch(struct v1_switch *sw, struct v1_port *port) {
    struct epoll_event in = {.events = EPOLLIN, .data.u32 = port->number};
    struct epoll_event out = {.events = 0, .data.u32 = V1_PORTS + port->number};
    return epoll_ctl(sw->ports->epoll, EPOLL_CTL_ADD, port->receive, &in) < 0 ||
                   epoll_ctl(sw->ports->epoll, EPOLL_CTL_ADD, port->send, &out) < 0
               ? V1_SYSTEM
               : 0;
}

static void check_ports(struct v1_switch *sw) {
    for (uint32_t i = 0; i < V1_PORTS; i++)
        if (sw->ports->port[i])
            v1_port_check(sw, sw->ports->port[i]);
}

/* Interfaces changed: what exactly is not read from the messages but from the interfaces. */
static void links_changed(struct v1_switch *sw) {
    uint8_t message[8192];
    while (read(sw->ports->link, message, sizeof(message)) > 0 || errno == ENOBUFS)
        continue;
    check_ports(sw);
}

/* Offer frames again that the interfaces had refused; returns microseconds until the next. */
static uint64_t retry(struct v1_switch *sw, uint64_t now) {
    uint64_t next = UINT64_MAX;
    bool saturated = false;
    for (uint32_t i = 0; sw->ports->saturated && i < V1_PORTS; i++) {
        struct v1_port *port = sw->ports->port[i];
        if (port && port->retry && port->retry <= now)
            v1_writable(sw, port);
        if (port && port->retry) {
            saturated = true;
            next = port->retry - now < next ? port->retry - now : next;
        }
    }
    sw->ports->saturated = saturated;
    return next;
}

/* What is due; returns microseconds until something will be. */
static uint64_t on_time(struct v1_switch *sw) {
    uint64_t now = v1_now(sw), next = SECOND, due;
    if (now - sw->swept >= SECOND) {
        sw->swept = now;
        check_ports(sw);
        if (sw->context)
            v1_sweep_tables(sw);
    }
    due = retry(sw, now);
    next = due < next ? due : next;
    if (sw->context) {
        due = v1_digests_flush(sw->context);
        next = due < next ? due : next;
    }
    return next;
}

static void serve(struct v1_switch *sw, const struct epoll_event *event) {
    uint32_t number = event->data.u32;
    struct v1_port *port = number < STOP ? sw->ports->port[number % V1_PORTS] : NULL;
    if (number == LINK)
        links_changed(sw);
    if (!port)
        return;
    if (event->events & EPOLLIN)
        v1_receive(sw, port);
    if (event->events & EPOLLOUT)
        v1_writable(sw, port);
    if (event->events & EPOLLERR)
        v1_port_check(sw, port);
}

static void *run(void *argument) {
    struct v1_switch *sw = argument;
    struct epoll_event events[EVENTS];
    uint64_t next = 0;
    for (;;) {
        int count = epoll_wait(sw->ports->epoll, events, EVENTS, (int)((next + 999) / 1000));
        for (int i = 0; i < PATIENCE && atomic_load(&sw->waiting); i++)
            sched_yield();
        pthread_mutex_lock(&sw->lock);
        if (sw->context)
            v1_tick(sw);
        bool stop = false;
        for (int i = 0; i < count; i++) {
            stop |= events[i].data.u32 == STOP;
            serve(sw, &events[i]);
        }
        next = on_time(sw);
        v1_ports_flush(sw);
        pthread_mutex_unlock(&sw->lock);
        if (stop)
            return NULL;
    }
}

int v1_start(struct v1_switch *sw) {
    if (sw->ports->running)
        return 0;
    if (pthread_create(&sw->ports->thread, NULL, run, sw))
        return V1_SYSTEM;
    sw->ports->running = true;
    return 0;
}

int v1_stop(struct v1_switch *sw) {
    uint64_t one = 1;
    if (!sw->ports->running)
        return 0;
    if (write(sw->ports->stop, &one, sizeof(one)) < 0)
        return V1_SYSTEM;
    pthread_join(sw->ports->thread, NULL);
    if (read(sw->ports->stop, &one, sizeof(one)) < 0)
        return V1_SYSTEM;
    sw->ports->running = false;
    return 0;
}
