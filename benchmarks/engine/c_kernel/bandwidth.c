/* Memory bandwidth of a number of threads: how fast can they read, update (read and write in place) and copy
 * buffers that no cache holds? Plain loops; the compiler makes vectors of them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { READ, UPDATE, COPY };
enum { HUGE_PAGE = 1 << 21 };

typedef struct {
    int mode, n_repeats, leads;
    size_t n_words;
    pthread_barrier_t *barrier;
    double *seconds;                  /* [repeat], written by the thread that leads */
    uint64_t result;                  /* keeps the loops from being left out */
    int failed;
} part_t;

static uint64_t *in_huge_pages(size_t n_bytes)
{
    void *memory = aligned_alloc(HUGE_PAGE, (n_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    if (!memory) return NULL;
    madvise(memory, n_bytes, MADV_HUGEPAGE);
    memset(memory, 1, n_bytes);       /* pages exist only once they are written */
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work(void *argument)
{
    part_t *part = argument;
    size_t n = part->n_words;
    uint64_t *from = in_huge_pages(n * sizeof *from), *to = part->mode == COPY ? in_huge_pages(n * sizeof *to) : NULL;
    part->failed = !from || (part->mode == COPY && !to);
    for (int repeat = 0; repeat < part->n_repeats; repeat++) {
        pthread_barrier_wait(part->barrier);
        double start = now();
        uint64_t sum = 0;
        if (part->failed) n = 0;
        else if (part->mode == READ)
            for (size_t k = 0; k < n; k++) sum += from[k];
        else if (part->mode == UPDATE)
            for (size_t k = 0; k < n; k++) from[k] += 1;
        else
            memcpy(to, from, n * sizeof *to);
        part->result += sum + (n ? (to ? to : from)[repeat] : 0);
        __asm__ volatile("" ::: "memory");
        pthread_barrier_wait(part->barrier);
        if (part->leads) part->seconds[repeat] = now() - start;
    }
    free(from);
    free(to);
    return NULL;
}

/* Time `n_repeats` passes over `n_bytes`, which the threads share equally. Returns 0, or -1 without memory or threads. */
int measure(int mode, int n_threads, int64_t n_bytes, int n_repeats, double *seconds)
{
    pthread_barrier_t barrier;
    part_t *parts = calloc((size_t)n_threads, sizeof(part_t));
    pthread_t *threads = calloc((size_t)n_threads, sizeof(pthread_t));
    if (!parts || !threads || pthread_barrier_init(&barrier, NULL, (unsigned)n_threads)) return -1;
    for (int me = 0; me < n_threads; me++) {
        size_t n_words = (size_t)n_bytes / (size_t)n_threads / sizeof(uint64_t);
        parts[me] = (part_t){mode, n_repeats, me == 0, n_words, &barrier, seconds, 0, 0};
        /* Without this thread the others wait for ever: give up, and leave them and their memory alone. */
        if (me && pthread_create(&threads[me], NULL, work, &parts[me])) return -1;
    }
    work(&parts[0]);
    int failed = parts[0].failed;
    for (int me = 1; me < n_threads; me++) {
        pthread_join(threads[me], NULL);
        failed |= parts[me].failed;
    }
    pthread_barrier_destroy(&barrier);
    free(parts);
    free(threads);
    return failed ? -1 : 0;
}
