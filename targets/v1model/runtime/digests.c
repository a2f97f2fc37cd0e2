/* SPDX-License-Identifier: Apache-2.0 */
/* Digests: samples are gathered in lists; one that was sent and not acknowledged is not sent again
 * until its acknowledgement is overdue. */
#include <stdlib.h>
#include "switch.h"

#define LONGEST_LIST 1024 /* samples; also what "no limit" means */
#define REMEMBERED 16384  /* samples that wait for an acknowledgement; a power of 2 */

struct sample {
    struct sample *next; /* in the same bucket, or on the free list */
    uint32_t list;
    uint64_t since;
    uint64_t words[];
};

struct v1_digest {
    const struct v1_digest_info *info;
    struct v1_digest_config config;
    uint32_t list; /* number of the list that is being gathered */
    uint32_t count;
    uint64_t started; /* when its first sample came */
    uint64_t *gathered;
    uint8_t *samples; /* REMEMBERED of them */
    size_t stride;
    struct sample *unused;
    struct sample *bucket[REMEMBERED];
};

static void forget_all(struct v1_digest *digest) {
    memset(digest->bucket, 0, sizeof(digest->bucket));
    digest->unused = NULL;
    for (size_t i = REMEMBERED; i-- > 0;) {
        struct sample *sample = (struct sample *)(digest->samples + i * digest->stride);
        sample->next = digest->unused;
        digest->unused = sample;
    }
}

static void forget(struct v1_digest *digest, struct sample **link) {
    struct sample *sample = *link;
    *link = sample->next;
    sample->next = digest->unused;
    digest->unused = sample;
}

/* Whether the sample was sent, or is about to be, and its acknowledgement may still come; if not,
 * remember it. When nothing more can be remembered all is forgotten: better twice than never. */
static bool remembered(struct v1_digest *digest, const uint64_t *words, uint64_t now) {
    uint32_t count = digest->info->words;
    uint64_t at = v1_mix(words, count) % REMEMBERED;
    for (struct sample **link = &digest->bucket[at]; *link; link = &(*link)->next)
        if (v1_equal((*link)->words, words, count)) {
            if ((*link)->list == digest->list || now - (*link)->since < digest->config.ack_timeout)
                return true;
            forget(digest, link);
            break;
        }
    if (!digest->unused)
        forget_all(digest);
    struct sample *sample = digest->unused;
    digest->unused = sample->next;
    sample->next = digest->bucket[at];
    digest->bucket[at] = sample;
    sample->list = digest->list;
    sample->since = now;
    memcpy(sample->words, words, 8 * count);
    return false;
}

static void send_list(struct v1_context *context, struct v1_digest *digest) {
    v1_event(&context->owner->events, V1_DIGEST, (uint32_t)(digest - context->digests),
             digest->list, digest->gathered, 8 * (size_t)digest->info->words * digest->count);
    digest->list++;
    digest->count = 0;
}

void v1_learn(struct v1_packet *packet, uint32_t number) {
    struct v1_context *context = packet->context;
    struct v1_digest *digest = &context->digests[number];
    uint32_t words = digest->info->words;
    uint64_t sample[words + 1];
    if (!digest->config.enabled)
        return;
    context->program->digest(packet, number, sample);
    if (digest->config.ack_timeout && remembered(digest, sample, context->now))
        return;
    memcpy(&digest->gathered[(size_t)digest->count * words], sample, 8 * words);
    if (digest->count++ == 0)
        digest->started = context->now;
    if (digest->count == digest->config.max_list_size || !digest->config.max_timeout)
        send_list(context, digest);
}

uint64_t v1_digests_flush(struct v1_context *context) {
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < context->program->digests; i++) {
        struct v1_digest *digest = &context->digests[i];
        if (!digest->count)
            continue;
        uint64_t age = context->now - digest->started;
        if (age >= digest->config.max_timeout)
            send_list(context, digest);
        else if (digest->config.max_timeout - age < next)
            next = digest->config.max_timeout - age;
    }
    return next;
}

int v1_digest_set(struct v1_context *context, uint32_t number,
                  const struct v1_digest_config *config) {
    if (number >= context->program->digests)
        return V1_INVALID;
    struct v1_digest *digest = &context->digests[number];
    v1_lock(context->owner);
    digest->config = *config;
    if (config->max_list_size == 0 || config->max_list_size > LONGEST_LIST)
        digest->config.max_list_size = LONGEST_LIST;
    digest->count = 0;
    forget_all(digest);
    v1_unlock(context->owner);
    return 0;
}

int v1_digest_get(struct v1_context *context, uint32_t number, struct v1_digest_config *config) {
    if (number >= context->program->digests)
        return V1_INVALID;
    v1_lock(context->owner);
    *config = context->digests[number].config;
    v1_unlock(context->owner);
    return 0;
}

int v1_digest_ack(struct v1_context *context, uint32_t number, uint32_t list) {
    if (number >= context->program->digests)
        return V1_INVALID;
    struct v1_digest *digest = &context->digests[number];
    v1_lock(context->owner);
    for (size_t i = 0; i < REMEMBERED; i++)
        for (struct sample **link = &digest->bucket[i]; *link;) {
            if ((*link)->list == list)
                forget(digest, link);
            else
                link = &(*link)->next;
        }
    v1_unlock(context->owner);
    return 0;
}

int v1_digests_create(struct v1_context *context) {
    const struct v1_program *program = context->program;
    context->digests = calloc(program->digests + 1, sizeof(context->digests[0]));
    if (!context->digests)
        return V1_NO_MEMORY;
    for (uint32_t i = 0; i < program->digests; i++) {
        struct v1_digest *digest = &context->digests[i];
        digest->info = &program->digest_info[i];
        digest->list = 1;
        digest->stride = sizeof(struct sample) + 8 * digest->info->words;
        digest->gathered = malloc(8 * (size_t)(digest->info->words + 1) * LONGEST_LIST);
        digest->samples = malloc(REMEMBERED * digest->stride);
        if (!digest->gathered || !digest->samples)
            return V1_NO_MEMORY;
    }
    return 0;
}

void v1_digests_destroy(struct v1_context *context) {
    for (uint32_t i = 0; context->digests && i < context->program->digests; i++) {
        free(context->digests[i].gathered);
        free(context->digests[i].samples);
    }
    free(context->digests);
}
