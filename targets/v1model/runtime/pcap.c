/* SPDX-License-Identifier: Apache-2.0 */
/* Classic pcap files, one per interface and direction. */
#include <stdlib.h>
#include <time.h>
#include "ports.h"

struct file_header {
    uint32_t magic; /* microseconds, in this machine's byte order */
    uint16_t major, minor;
    uint32_t zone, accuracy, longest, link;
};

struct record_header {
    uint32_t seconds, microseconds, captured, length;
};

FILE *v1_pcap_open(const char *folder, const char *name, const char *direction) {
    const struct file_header header = {0xa1b2c3d4, 2, 4, 0, 0, 1 << 18, 1};
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/%s_%s.pcap", folder, name, direction);
    FILE *file = length < (int)sizeof(path) ? fopen(path, "we") : NULL;
    if (file) {
        fwrite(&header, sizeof(header), 1, file);
        fflush(file);
    }
    return file;
}

void v1_pcap_write(FILE *file, const uint8_t *data, uint32_t length) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct record_header header = {(uint32_t)now.tv_sec, (uint32_t)(now.tv_nsec / 1000),
                                         length, length};
    fwrite(&header, sizeof(header), 1, file);
    fwrite(data, 1, length, file);
}
