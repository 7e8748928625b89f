/* The yardstick: one TrueNorth-like chip, ticked as fast as we can in plain C with vector intrinsics.
 *
 * One tick of a core: take the axons that are due; for each of them add the weight of its type to every neuron
 * with a synapse on it; add the leak; neurons at or above their threshold spike and are reset; every spike is due
 * on one axon of one core 1 to 15 ticks later. No core sees a spike of its own tick, so cores run in any order.
 *
 * What makes it fast:
 *  - The state is U = V - threshold in 16 bits. A spike is the sign bit, and no threshold is read. A bound on |U|
 *    per core proves that nothing overflows; a core for which it cannot is reported, and the run is void.
 *  - A row of the crossbar is the mask of the addition (lanes.h).
 *  - At 4096 cores a tick reads some 12 MB, and which rows and records is known only shortly before. So cores and
 *    spikes pass through pipelines: what one stage needs is prefetched by the stage before, a little earlier.
 *  - Loops whose length nobody can predict (axons, spikes of a core) are few: each costs as much as three axons.
 *  - Cores without due axons, leak and spikes are skipped.
 *  - Threads own ranges of cores. Spikes between ranges go through outboxes that are read after the next barrier.
 *
 * Parameters are per neuron and read from memory in every tick, whether or not they are all equal.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"

enum { NEURONS = 256, TYPES = 4, WORDS = 4 /* of 64 bits: one bit per axon or neuron */, SLOTS = 16 };

/* ---- what is in memory ------------------------------------------------------------------------------------ */

typedef struct {                      /* 1856 bytes: one stream of whole cache lines per core */
    int16_t state[NEURONS];           /* U = V - threshold */
    int8_t leak[NEURONS];
    int8_t weights[TYPES][NEURONS];
    uint8_t axon_types[NEURONS / 4];  /* axon a: bits 2 (a % 4) and above of byte a / 4 */
} core_t;

typedef struct {                      /* few enough bytes to stay in the second-level cache for a whole chip */
    int32_t bound;                    /* |U| <= bound for all neurons */
    int16_t largest_weight, largest_leak, largest_reset; /* magnitudes; of the reset: of record_t.add */
    uint8_t has_leak;
    uint8_t quiet;                    /* no leak, and no spike in its last tick: silent until the next due axon */
} summary_t;

typedef struct {                      /* what a spike of one neuron does */
    uint32_t target;                  /* core << 12 | axon << 4 | delay; delay 0 is no target */
    int16_t keep, add;                /* reset: U = (U & keep) + add */
} record_t;

typedef uint64_t row_t[WORDS];

typedef struct {
    int64_t n_cores;
    core_t *cores;                    /* [core] */
    summary_t *summaries;             /* [core] */
    const row_t *crossbar;            /* [core][axon], bit n: synapse on neuron n */
    const record_t *records;          /* [core][neuron] */
    row_t *due;                       /* [tick % SLOTS][core], bit a: axon a is due */
} chip_t;

/* ---- a thread's part of the chip ---------------------------------------------------------------------------- */

typedef struct { uint32_t *targets; int64_t n; } outbox_t;

#ifndef RESET_BEHIND
#define RESET_BEHIND 24               /* spikes */
#endif
#ifndef SEND_BEHIND
#define SEND_BEHIND 24
#endif

enum { MOST_QUEUED = 1024, BATCH = 8 };
_Static_assert(RESET_BEHIND + SEND_BEHIND + 3 * BATCH + 2 * NEURONS + SPARE < MOST_QUEUED, "the queue would overflow");

typedef struct {                      /* spikes of this tick that are not yet sent; small, to stay in the cache */
    uint32_t spikes[MOST_QUEUED];     /* core * NEURONS + neuron; once it is reset, its target */
    int sent, reset, fetched, n;      /* sent <= reset <= fetched <= n: how far each stage has come */
} queue_t;

typedef struct {
    const chip_t *chip;
    int me, n_threads;
    int64_t first, end;               /* own cores */
    const uint8_t *owner;             /* [core] thread */
    outbox_t *outboxes;               /* [tick parity][from][to], shared by all threads */
    queue_t queue;
    int32_t *awake;                   /* [end - first + margin] cores to run in this tick */
    int64_t axon_events;
    int64_t overflow;                 /* a core whose bound failed, or -1 */
    char padding[64];                 /* counters of two threads never share a cache line */
} part_t;

static inline int64_t slot_of(int64_t tick) { return tick % SLOTS; }

static inline void set_due(const chip_t *chip, uint32_t target, int64_t tick)
{
    uint32_t delay = target & 15, bit = target >> 4; /* bit: core * 256 + axon */
    if (!delay) return;
    uint64_t *slot = chip->due[slot_of(tick + delay) * chip->n_cores];
    slot[bit / 64] |= 1ull << bit % 64;
}

/* ---- the pipeline of cores: listen, and some cores later run ----------------------------------------------------- */

#ifndef LISTEN_AHEAD                  /* cores; this and the other two distances are measured, and hardly matter */
#define LISTEN_AHEAD 6
#endif
enum { VISITS = 8 };
_Static_assert(LISTEN_AHEAD < VISITS, "a visit would be overwritten before it is run");

typedef struct {
    int64_t core;
    int n_due;
    uint32_t due[NEURONS + SPARE];    /* axons */
} visit_t;

/* Fetch into the second-level cache. Not the first: that has room for few fetches under way (1.3 times slower at
 * 20 Hz, twice at 100 Hz). */
static inline void prefetch(const void *from) { __builtin_prefetch(from, 0, 2); }

/* Take the due axons; prefetch their rows, and the core's state and parameters. All weights: to choose those of the
 * types that are due costs more in mispredicted branches than it saves in bytes. */
static inline void listen(const chip_t *chip, row_t *slot, int64_t core, visit_t *visit)
{
    const row_t *rows = chip->crossbar + core * NEURONS;
    const char *memory = (const char *)&chip->cores[core];
    int n = list_bits(slot[core], 0, visit->due);
    visit->core = core;
    visit->n_due = n;
    memset(slot[core], 0, sizeof(row_t)); /* free for spikes that are due one turn of the ring later */
    for (int e = 0; e < n; e += BATCH)    /* the last row again and again is cheaper than a branch per row */
        for (int k = e; k < e + BATCH; k++) prefetch(rows[visit->due[k < n ? k : n - 1]]);
    for (size_t k = 0; k < sizeof(core_t); k += 64) prefetch(memory + k);
}

/* What all this is about: integrate, leak, compare. Writes U, and the bits of the spikes. */
static inline void integrate(core_t *memory, const row_t *rows, const visit_t *visit, uint64_t *spikes)
{
    enum { HELD = 8 };                /* vectors in registers; AVX2 goes through the list twice */
    for (int first = 0; first < NEURONS; first += HELD * LANES) {
        lanes u[HELD];
#pragma GCC unroll 8
        for (int k = 0; k < HELD; k++) {
            int n = first + k * LANES;
            u[k] = add(load(memory->state + n), widen(memory->leak + n));
        }
        for (int e = 0; e < visit->n_due; e++) {
            int axon = visit->due[e], type = memory->axon_types[axon / 4] >> axon % 4 * 2 & 3;
            const lane_bits *synapses = (const lane_bits *)rows[axon] + first / LANES;
            const int8_t *weights = memory->weights[type] + first;
#pragma GCC unroll 8
            for (int k = 0; k < HELD; k++) u[k] = add_where(synapses[k], u[k], widen(weights + k * LANES));
        }
#pragma GCC unroll 8
        for (int k = 0; k < HELD; k++) {
            int n = first + k * LANES;
            store(memory->state + n, u[k]);
            spikes[n / 64] |= (uint64_t)not_negative(u[k]) << n % 64; /* a register, the loop being unrolled */
        }
    }
}

/* Keep |U| <= bound <= 32767 true through this tick; where the running bound says nothing, look at the states. */
static inline void raise_bound(part_t *part, const visit_t *visit)
{
    summary_t *s = &part->chip->summaries[visit->core];
    int32_t step = visit->n_due * s->largest_weight + s->largest_leak;
    if (__builtin_expect(s->bound + step > INT16_MAX, 0)) {
        const int16_t *state = part->chip->cores[visit->core].state;
        s->bound = s->largest_reset;
        for (int n = 0; n < NEURONS; n++)
            if (abs(state[n]) > s->bound) s->bound = abs(state[n]);
        if (s->bound + step > INT16_MAX) part->overflow = visit->core;
    }
    s->bound += step;
}

/* Run the core, and queue its spikes; returns their number. */
static inline int run_core(part_t *part, const visit_t *visit, uint64_t *recorded)
{
    const chip_t *chip = part->chip;
    summary_t *s = &chip->summaries[visit->core];
    row_t spikes = {0};
    raise_bound(part, visit);
    integrate(&chip->cores[visit->core], chip->crossbar + visit->core * NEURONS, visit, spikes);
    int n = list_bits(spikes, (uint32_t)visit->core * NEURONS, part->queue.spikes + part->queue.n);
    part->queue.n += n;
    s->quiet = !s->has_leak & !n;
    part->axon_events += visit->n_due;
    if (recorded) memcpy(recorded + visit->core * WORDS, spikes, sizeof spikes);
    return n;
}

/* ---- the pipeline of spikes: fetch the record, reset, send --------------------------------------------------------
 *
 * In batches of one size, because loops over the spikes of one core would end in a mispredicted branch each. */

/* Prefetch the records of the next n spikes. */
static inline void fetch(const chip_t *chip, queue_t *q, int n)
{
    for (int k = q->fetched; k < q->fetched + n; k++) prefetch(&chip->records[q->spikes[k]]);
    q->fetched += n;
}

/* Reset the next n neurons; prefetch what their spikes will set. */
static inline void reset(const chip_t *chip, queue_t *q, int n, int64_t tick)
{
    for (int k = q->reset; k < q->reset + n; k++) {
        uint32_t neuron = q->spikes[k];
        record_t r = chip->records[neuron];
        int16_t *state = &chip->cores[neuron / NEURONS].state[neuron % NEURONS];
        *state = (int16_t)((*state & r.keep) + r.add);
        q->spikes[k] = r.target;
        prefetch(chip->due[slot_of(tick + r.target % 16) * chip->n_cores + (r.target >> 12)]);
    }
    q->reset += n;
}

/* Set what the next n spikes make due, or leave it to the thread that owns the core. */
static inline void send(const part_t *part, queue_t *q, int n, int64_t tick, outbox_t *outboxes)
{
    for (int k = q->sent; k < q->sent + n; k++) {
        uint32_t target = q->spikes[k];
        int to = part->n_threads == 1 ? part->me : part->owner[target >> 12];
        if (to == part->me) set_due(part->chip, target, tick);
        else outboxes[to].targets[outboxes[to].n++] = target;
    }
    q->sent += n;
}

static inline void move_spikes(part_t *part, int64_t tick, outbox_t *outboxes)
{
    queue_t *q = &part->queue;
    while (q->n - q->fetched >= BATCH) {
        fetch(part->chip, q, BATCH);
        if (q->fetched - q->reset > RESET_BEHIND) reset(part->chip, q, BATCH, tick);
        if (q->reset - q->sent > SEND_BEHIND) send(part, q, BATCH, tick, outboxes);
    }
    if (q->n > MOST_QUEUED - NEURONS - SPARE) { /* no room for the spikes of another core: start again from the left */
        memmove(q->spikes, q->spikes + q->sent, (size_t)(q->n - q->sent) * sizeof q->spikes[0]);
        q->n -= q->sent, q->fetched -= q->sent, q->reset -= q->sent, q->sent = 0;
    }
}

/* Whatever is still under way at the end of a tick. */
static void finish_spikes(part_t *part, int64_t tick, outbox_t *outboxes)
{
    queue_t *q = &part->queue;
    fetch(part->chip, q, q->n - q->fetched);
    reset(part->chip, q, q->n - q->reset, tick);
    send(part, q, q->n - q->sent, tick, outboxes);
    q->n = q->fetched = q->reset = q->sent = 0;
}

/* ---- one tick ----------------------------------------------------------------------------------------------------- */

/* One tick of a thread's cores; returns the number of spikes. */
static int64_t run_part(part_t *part, int64_t tick, outbox_t *outboxes, uint64_t *recorded)
{
    const chip_t *chip = part->chip;
    row_t *slot = chip->due + slot_of(tick) * chip->n_cores;
    int64_t n_awake = 0, n_spikes = 0;
    for (int64_t c = part->first; c < part->end; c++) {
        part->awake[n_awake] = (int32_t)c;
        n_awake += !chip->summaries[c].quiet || (slot[c][0] | slot[c][1] | slot[c][2] | slot[c][3]);
    }

    visit_t visits[VISITS];
#define VISIT(i) (&visits[(i) % VISITS])
    for (int64_t i = 0; i < LISTEN_AHEAD && i < n_awake; i++) listen(chip, slot, part->awake[i], VISIT(i));
    for (int64_t i = 0; i < n_awake; i++) {
        if (i + LISTEN_AHEAD < n_awake) listen(chip, slot, part->awake[i + LISTEN_AHEAD], VISIT(i + LISTEN_AHEAD));
        n_spikes += run_core(part, VISIT(i), recorded);
        move_spikes(part, tick, outboxes);
    }
    finish_spikes(part, tick, outboxes);
    return n_spikes;
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

enum { HOLD, GO, GIVE_UP };

typedef struct { atomic_int start; _Alignas(64) atomic_int arrived; _Alignas(64) atomic_int round; } barrier_t;

static void wait_for_all(barrier_t *barrier, int n_threads)
{
    int round = atomic_load(&barrier->round);
    if (atomic_fetch_add(&barrier->arrived, 1) == n_threads - 1) {
        atomic_store(&barrier->arrived, 0);
        atomic_store(&barrier->round, round + 1);
        return;
    }
    for (int spins = 0; atomic_load_explicit(&barrier->round, memory_order_acquire) == round; spins++) {
        _mm_pause();
        if (spins > 20000) sched_yield(); /* somebody else needs this CPU, perhaps the thread that we wait for */
    }
}

typedef struct {
    part_t *part;
    barrier_t *barrier;
    int64_t first_tick, n_ticks;
    int64_t *spike_counts;            /* [tick][thread] */
    uint64_t *recorded;               /* [tick][core][WORDS] bits of the spikes, or NULL */
} job_t;

static inline outbox_t *outboxes_of(const part_t *part, int64_t tick, int from)
{
    return part->outboxes + ((tick & 1) * part->n_threads + from) * part->n_threads;
}

/* Set what the other threads sent to this one in `tick`. They write boxes of the other parity meanwhile. */
static void empty_outboxes(const part_t *part, int64_t tick)
{
    for (int from = 0; from < part->n_threads; from++) {
        outbox_t *box = &outboxes_of(part, tick, from)[part->me];
        for (int64_t k = 0; k < box->n; k++) set_due(part->chip, box->targets[k], tick);
        box->n = 0;
    }
}

static void *work(void *argument)
{
    const job_t *job = argument;
    part_t *part = job->part;
    while (atomic_load(&job->barrier->start) == HOLD) sched_yield();
    if (atomic_load(&job->barrier->start) == GIVE_UP) return NULL;
    for (int64_t k = 0; k < job->n_ticks; k++) {
        int64_t tick = job->first_tick + k;
        uint64_t *recorded = job->recorded ? job->recorded + k * part->chip->n_cores * WORDS : NULL;
        int64_t spikes = run_part(part, tick, outboxes_of(part, tick, part->me), recorded);
        job->spike_counts[k * part->n_threads + part->me] = spikes;
        if (part->n_threads > 1) {
            wait_for_all(job->barrier, part->n_threads);
            empty_outboxes(part, tick);
        }
    }
    return NULL;
}

/* Run `n_ticks` ticks. Returns -1, or a core that left 16 bits (then the run is void), or -2 without memory or
 * threads. `recorded` may be NULL; `axon_events` is increased. */
int64_t run_ticks(const chip_t *chip, int n_threads, int64_t first_tick, int64_t n_ticks, int64_t *spike_counts,
                  uint64_t *recorded, int64_t *axon_events)
{
    int64_t n_boxes = 2LL * n_threads * n_threads, result = -1;
    int started = 1;
    part_t *parts = calloc((size_t)n_threads, sizeof(part_t));
    job_t *jobs = calloc((size_t)n_threads, sizeof(job_t));
    pthread_t *threads = calloc((size_t)n_threads, sizeof(pthread_t));
    outbox_t *outboxes = calloc((size_t)n_boxes, sizeof(outbox_t));
    uint8_t *owner = malloc((size_t)chip->n_cores);
    barrier_t barrier = {.start = HOLD};
    if (!parts || !jobs || !threads || !outboxes || !owner) result = -2;

    for (int me = 0; me < n_threads && result == -1; me++) {
        int64_t first = chip->n_cores * me / n_threads, end = chip->n_cores * (me + 1) / n_threads;
        int32_t *awake = malloc((size_t)(end - first + 1) * sizeof(int32_t));
        parts[me] = (part_t){.chip = chip, .me = me, .n_threads = n_threads, .first = first, .end = end, .owner = owner,
                             .outboxes = outboxes, .awake = awake, .overflow = -1};
        jobs[me] = (job_t){&parts[me], &barrier, first_tick, n_ticks, spike_counts, recorded};
        size_t most_spikes = (size_t)(end - first) * NEURONS + SPARE; /* only what is used gets pages */
        if (!awake) result = -2;
        memset(owner + first, me, (size_t)(end - first));
        for (int parity = 0; parity < 2; parity++)
            for (int to = 0; to < n_threads && n_threads > 1; to++) {
                uint32_t *targets = malloc(most_spikes * sizeof(uint32_t));
                outboxes_of(&parts[me], parity, me)[to].targets = targets;
                if (!targets) result = -2;
            }
    }
    if (result == -1) {
        for (; started < n_threads; started++)
            if (pthread_create(&threads[started], NULL, work, &jobs[started])) break;
        if (started < n_threads) result = -2; /* the others would wait at the barrier for ever */
        atomic_store(&barrier.start, result == -1 ? GO : GIVE_UP);
        work(&jobs[0]);
        for (int k = 1; k < started; k++) pthread_join(threads[k], NULL);
    }
    for (int me = 0; me < n_threads && parts; me++) {
        *axon_events += parts[me].axon_events;
        if (result == -1 && parts[me].chip) result = parts[me].overflow;
        free(parts[me].awake);
    }
    for (int64_t k = 0; k < n_boxes && outboxes; k++) free(outboxes[k].targets);
    free(parts);
    free(jobs);
    free(threads);
    free(outboxes);
    free(owner);
    return result;
}
