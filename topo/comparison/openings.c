/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loop of the generator of first packets: it takes as little as it can of the processors
 * that it shares with what it measures. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/time.h>

#define FRAME 54 /* bytes: Ethernet, IPv4 and TCP headers without options */
#define BATCH 64
#define NAP 1000000u /* nanoseconds; what is due within it is sent at once */
#define SECOND 1000000000u
#define SYN_ACK 0x12

struct order {
    const uint8_t *frames; /* count x FRAME bytes */
    uint32_t count;
    double rate;       /* a second */
    uint64_t patience; /* nanoseconds after which sending ends, whatever is left */
    uint64_t wait;     /* nanoseconds within which an answer counts */
    uint32_t address;  /* of the service, in network order */
    uint16_t port;     /* of the service */
};

/* What became of it; an entry of 0 means never. Times are CLOCK_REALTIME, in nanoseconds. */
struct result {
    uint64_t *sent;     /* count entries */
    uint64_t *answered; /* count entries */
    uint64_t begun, ended;
    uint32_t sent_count, answered_count;
};

static uint64_t nanoseconds(const struct timespec *time) {
    return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time); /* the clock of the kernel's stamps */
    return nanoseconds(&time);
}

static uint32_t number_at(const uint8_t *field) {
    return (uint32_t)field[0] << 24 | (uint32_t)field[1] << 16 | (uint32_t)field[2] << 8 | field[3];
}

static uint16_t port_at(const uint8_t *field) {
    return (uint16_t)(field[0] << 8 | field[1]);
}

/* Send what is due, as far as the interface's queue takes it. Returns 0, or -1 and errno. */
static int send_due(int fd, const struct order *order, struct result *result, uint32_t due) {
    struct mmsghdr messages[BATCH] = {0};
    struct iovec pieces[BATCH];
    while (result->sent_count < due) {
        uint32_t count = due - result->sent_count;
        count = count < BATCH ? count : BATCH;
        for (uint32_t i = 0; i < count; i++) {
            size_t place = (size_t)(result->sent_count + i) * FRAME;
            pieces[i] = (struct iovec){(void *)(order->frames + place), FRAME};
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        uint64_t time = now();
        int sent = sendmmsg(fd, messages, count, MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? 0 : -1;
        for (int i = 0; i < sent; i++)
            result->sent[result->sent_count++] = time;
    }
    return 0;
}

static uint64_t stamp(struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPNS) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(part), sizeof(time));
            return nanoseconds(&time);
        }
    return now();
}

/* Take note of a frame, if it is the first answer to one that was sent, and in time. */
static void note(const struct order *order, struct result *result, const uint32_t *places,
                 const uint8_t *frame, uint64_t time) {
    uint32_t place;
    if (memcmp(frame + 26, &order->address, 4) != 0 || port_at(frame + 34) != order->port ||
        (frame[47] & SYN_ACK) != SYN_ACK)
        return;
    place = places[port_at(frame + 36)];
    if (place == 0 || place > result->sent_count || result->answered[place - 1])
        return;
    /* Not a late answer to an earlier connection from that port. */
    if (number_at(frame + 42) != number_at(order->frames + (size_t)(place - 1) * FRAME + 38) + 1)
        return;
    if (time - result->sent[place - 1] > order->wait)
        return;
    result->answered[place - 1] = time;
    result->answered_count++;
}

/* Read the answers that wait. Returns 0, or -1 and errno. */
static int take(int fd, const struct order *order, struct result *result, const uint32_t *places) {
    static uint8_t frames[BATCH][FRAME];
    static char control[BATCH][CMSG_SPACE(sizeof(struct timespec))];
    struct mmsghdr messages[BATCH] = {0};
    struct iovec pieces[BATCH];
    for (int count = BATCH; count == BATCH;) {
        for (int i = 0; i < BATCH; i++) {
            pieces[i] = (struct iovec){frames[i], FRAME};
            messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i],
                                                  .msg_iovlen = 1,
                                                  .msg_control = control[i],
                                                  .msg_controllen = sizeof(control[i])};
        }
        count = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
        if (count < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        for (int i = 0; i < count; i++)
            if (messages[i].msg_len == FRAME)
                note(order, result, places, frames[i], stamp(&messages[i].msg_hdr));
    }
    return 0;
}

/* Carry out an order on a packet socket that stamps what it receives. Returns 0, or -1 and errno.
 */
int openings_carry_out(int fd, const struct order *order, struct result *result) {
    static uint32_t places[1 << 16]; /* by client's port: place of its frame, counted from 1 */
    const struct timespec nap = {0, NAP};
    memset(places, 0, sizeof(places));
    for (uint32_t i = 0; i < order->count; i++)
        places[port_at(order->frames + (size_t)i * FRAME + 34)] = i + 1;
    result->begun = result->ended = now();
    while (result->sent_count < order->count && result->ended < result->begun + order->patience) {
        double due = (double)(result->ended - result->begun + NAP) * order->rate / SECOND;
        uint32_t until = due < (double)order->count ? (uint32_t)due : order->count;
        if (send_due(fd, order, result, until) < 0 || take(fd, order, result, places) < 0)
            return -1;
        if (result->sent_count < order->count)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        result->ended = now();
    }
    while (result->answered_count < result->sent_count && now() < result->ended + order->wait) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        if (take(fd, order, result, places) < 0)
            return -1;
    }
    return 0;
}
