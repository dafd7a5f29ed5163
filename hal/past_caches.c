/* past_caches.c - copies for devices to fetch.  No state; any thread.
 *
 * An ordinary store first reads the line that it is going to overwrite.  Where many threads fill slots for devices that
 * is a third of memory's traffic, and memory is what bounds them. */
#include <halcyon/backend.h>

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

#define LINE 64

/* Whole lines, to an aligned place. */
static void store_lines(uint8_t *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i += LINE) {
        /* All four before the first store: a line that is written in one go is not read before. */
        const __m128i a = _mm_loadu_si128((const __m128i *)(src + i));
        const __m128i b = _mm_loadu_si128((const __m128i *)(src + i + 16));
        const __m128i c = _mm_loadu_si128((const __m128i *)(src + i + 32));
        const __m128i d = _mm_loadu_si128((const __m128i *)(src + i + 48));
        _mm_stream_si128((__m128i *)(dst + i), a);
        _mm_stream_si128((__m128i *)(dst + i + 16), b);
        _mm_stream_si128((__m128i *)(dst + i + 32), c);
        _mm_stream_si128((__m128i *)(dst + i + 48), d);
    }
    /* Such stores are not ordered with others, and whoever is told of the data must find it there. */
    _mm_sfence();
}

void hcy_copy_past_caches(void *dst, const void *src, size_t n)
{
    size_t head = (LINE - (uintptr_t)dst % LINE) % LINE;
    if (n < head + LINE) {
        if (n) /* of nothing neither place need be there */
            memcpy(dst, src, n);
        return;
    }
    const size_t lines = (n - head) / LINE * LINE;
    memcpy(dst, src, head);
    store_lines((uint8_t *)dst + head, (const uint8_t *)src + head, lines);
    memcpy((uint8_t *)dst + head + lines, (const uint8_t *)src + head + lines, n - head - lines);
}
#else
void hcy_copy_past_caches(void *dst, const void *src, size_t n)
{
    if (n)
        memcpy(dst, src, n);
}
#endif
