/* SPDX-License-Identifier: Apache-2.0 */
/* What the switch is measured with and against: a sender that keeps a rate, and the plainest loop
 * that copies frames between two interfaces. */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#define BATCH 64
#define LONGEST 2048 /* bytes of a frame */
#define BURST 16     /* packets sent at once, for each interface about half of them */

static int open_socket(const char *name, int protocol) {
    const int on = 1, size = 4 << 20;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    address.sll_ifindex = (int)if_nametoindex(name);
    if (fd >= 0 && protocol) {
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    }
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Copy frames from each of two interfaces to the other until *stop. Returns 0, or -1 and errno. */
int bench_copy(const char *one, const char *two, const atomic_int *stop) {
    static uint8_t buffers[BATCH][LONGEST];
    struct mmsghdr messages[BATCH] = {0};
    struct iovec pieces[BATCH];
    struct pollfd fds[2] = {{open_socket(one, ETH_P_ALL), POLLIN, 0},
                            {open_socket(two, ETH_P_ALL), POLLIN, 0}};
    for (int i = 0; i < BATCH; i++) {
        messages[i].msg_hdr.msg_iov = &pieces[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    while (fds[0].fd >= 0 && fds[1].fd >= 0 && !atomic_load(stop)) {
        poll(fds, 2, 100);
        for (int side = 0; side < 2; side++) {
            for (int i = 0; i < BATCH; i++)
                pieces[i] = (struct iovec){buffers[i], LONGEST};
            int count = recvmmsg(fds[side].fd, messages, BATCH, MSG_DONTWAIT, NULL);
            for (int i = 0; i < count; i++)
                pieces[i].iov_len = messages[i].msg_len;
            for (int sent = 0, now = 0; sent < count; sent += now)
                if ((now = sendmmsg(fds[!side].fd, messages + sent, count - sent, 0)) < 0)
                    break;
        }
    }
    close(fds[0].fd);
    close(fds[1].fd);
    return atomic_load(stop) ? 0 : -1;
}

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t ns) {
    struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* Send packets, each to one of two interfaces (`to`: 0 or 1), over and over at `rate` per second
 * for `nanoseconds`. Returns how many were sent, or -1 and errno. */
int64_t bench_send(const char *one, const char *two, const uint8_t *packets,
                   const uint32_t *lengths, const uint8_t *to, uint32_t number, double rate,
                   uint64_t nanoseconds) {
    int fd[2] = {open_socket(one, 0), open_socket(two, 0)};
    struct mmsghdr messages[2][BURST] = {0};
    struct iovec pieces[2][BURST];
    int64_t sent = 0;
    const uint8_t *packet = packets;
    uint64_t start = now_ns();
    for (uint32_t next = 0; fd[0] >= 0 && fd[1] >= 0;) {
        uint64_t due = start + (uint64_t)((double)sent / rate * 1e9), now = now_ns();
        if (now - start >= nanoseconds)
            break;
        if (now < due)
            sleep_until(due);
        unsigned count[2] = {0};
        for (int i = 0; i < BURST; i++) {
            int side = to[next];
            unsigned place = count[side]++;
            pieces[side][place] = (struct iovec){(void *)packet, lengths[next]};
            messages[side][place].msg_hdr.msg_iov = &pieces[side][place];
            messages[side][place].msg_hdr.msg_iovlen = 1;
            packet += lengths[next];
            if (++next == number) {
                next = 0;
                packet = packets;
            }
        }
        for (int side = 0; side < 2; side++)
            for (unsigned done = 0; done < count[side];) {
                int some = sendmmsg(fd[side], messages[side] + done, count[side] - done, 0);
                if (some < 0 && errno != ENOBUFS && errno != EINTR) {
                    sent = -1;
                    goto end;
                }
                done += some > 0 ? (unsigned)some : 0;
            }
        sent += BURST;
    }
end:
    close(fd[0]);
    close(fd[1]);
    return fd[0] < 0 || fd[1] < 0 ? -1 : sent;
}
