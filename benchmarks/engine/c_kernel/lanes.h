/* Lanes of int16, the only place that knows the instruction set: AVX-512 (32 lanes) or AVX2 (16 lanes).
 *
 * A row of the crossbar holds one bit per neuron, so LANES of its bits are the mask of one vector: `lane_bits`
 * is an integer of just that width, and a row is read as an array of them.
 */
#ifndef LANES_H
#define LANES_H

#include <immintrin.h>
#include <stdint.h>

#if defined(__AVX512BW__)

enum { LANES = 32 };
typedef __m512i lanes;
typedef uint32_t __attribute__((may_alias)) lane_bits;

static inline lanes load(const int16_t *from) { return _mm512_load_si512(from); }
static inline void store(int16_t *to, lanes x) { _mm512_store_si512(to, x); }
static inline lanes widen(const int8_t *from) { return _mm512_cvtepi8_epi16(_mm256_load_si256((const __m256i *)from)); }
static inline lanes add(lanes x, lanes y) { return _mm512_add_epi16(x, y); }
static inline lanes add_where(lane_bits bits, lanes x, lanes y) { return _mm512_mask_add_epi16(x, bits, x, y); }
static inline lane_bits not_negative(lanes x) { return ~_mm512_movepi16_mask(x); }

#elif defined(__AVX2__)

enum { LANES = 16 };
typedef __m256i lanes;
typedef uint16_t __attribute__((may_alias)) lane_bits;

static inline lanes load(const int16_t *from) { return _mm256_load_si256((const __m256i *)from); }
static inline void store(int16_t *to, lanes x) { _mm256_store_si256((__m256i *)to, x); }
static inline lanes widen(const int8_t *from) { return _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)from)); }
static inline lanes add(lanes x, lanes y) { return _mm256_add_epi16(x, y); }

static inline lanes add_where(lane_bits bits, lanes x, lanes y)
{
    const lanes own_bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768);
    lanes chosen = _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16((int16_t)bits), own_bit), own_bit);
    return _mm256_add_epi16(x, _mm256_and_si256(chosen, y));
}

static inline lane_bits not_negative(lanes x)
{
    /* One byte per lane keeps the sign; packing x with itself repeats each 128-bit half. */
    uint32_t negative = (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(x, x));
    return (lane_bits)~((negative & 0xff) | (negative >> 8 & 0xff00));
}

#else
#error "the C kernel needs a CPU with AVX2 or AVX-512"
#endif

/* List base + the positions of the set bits of 256, ascending; returns their number. `list` has room for SPARE more:
 * writes may run over the end. */
enum { SPARE = 16 };

#if defined(__AVX512VBMI2__)

static inline int list_bits(const uint64_t words[4], uint32_t base, uint32_t *list)
{
    static const uint8_t count_up[64] __attribute__((aligned(64))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i positions = _mm512_load_si512(count_up);
    int n = 0;
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        __m512i kept = _mm512_maskz_compress_epi8(words[k], positions), start = _mm512_set1_epi32((int)base + 64 * k);
        int count = __builtin_popcountll(words[k]), stored = 0;
        do { /* 16 at a time, so mostly once: the number of spikes itself cannot be predicted */
            __m512i wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(kept));
            _mm512_storeu_si512(list + n + stored, _mm512_add_epi32(wide, start));
            kept = _mm512_alignr_epi32(kept, kept, 4);
        } while (__builtin_expect((stored += 16) < count, 0));
        n += count;
    }
    return n;
}

#else

static inline int list_bits(const uint64_t words[4], uint32_t base, uint32_t *list)
{
    int n = 0;
    for (int k = 0; k < 4; k++)
        for (uint64_t left = words[k]; left; left &= left - 1)
            list[n++] = base + (uint32_t)(64 * k + __builtin_ctzll(left));
    return n;
}

#endif
#endif
