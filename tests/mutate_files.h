/* mutate_files.h - damage for image files where their readers believe them: TIFF's tags and lists, numbers and lines of
 * headers in text, the widths of CBF's differences, words of raw frames. */
#ifndef MUTATE_FILES_H
#define MUTATE_FILES_H

#include "mutate.h"

/* A number in the file's order of bytes. */
static inline uint64_t number_at(const uint8_t *at, size_t width, int big)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)at[big ? width - 1 - i : i] << 8 * i;
    return value;
}

/* One that is like it, of the file, or absurd. */
static inline void damage_at(uint8_t *at, size_t width, int big, size_t file_size)
{
    uint64_t value = number_at(at, width, big);
    switch (next() % 9) {
    case 0: value = next() % file_size; break;
    case 1: value++; break;
    case 2: value--; break;
    case 3: value = 0; break;
    case 4: value = UINT64_MAX; break;
    case 5: value = file_size - next() % 4; break;
    case 6: value <<= 1 + next() % 12; break;
    case 7: value ^= (uint64_t)1 << next() % (8 * width); break;
    default: value = next() >> next() % 64;
    }
    for (size_t i = 0; i < width; i++)
        at[big ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

/* A field of an entry, or of the list that it points at. */
static inline void damage_entry(uint8_t *bytes, size_t size, uint8_t *entry, int big)
{
    static const uint8_t tags[] = { 0, 1, 2, 3, 6, 17, 18, 21, 22, 23, 28, 61, 66, 67, 68, 69, 83 }; /* from 256 on */
    uint64_t count = number_at(entry + 4, 4, big), list = number_at(entry + 8, 4, big);
    switch (next() % 6) {
    case 0:
        entry[big ? 1 : 0] = tags[next() % sizeof tags];
        entry[big ? 0 : 1] = 1;
        break;
    case 1: damage_at(entry + 2, 2, big, 19); break; /* types end at 18 */
    case 2: damage_at(entry + 4, 4, big, size); break;
    case 3: damage_at(entry + 8, 4, big, size); break;
    case 4: damage_at(entry + 8, 2, big, 9); break; /* small ones: samples, formats, kinds of compression */
    default:
        if (count > 1 && count < size / 4 && list <= size - 4 * count)
            damage_at(bytes + list + 4 * (next() % count), 4, big, size);
    }
}

static inline size_t mutate_tiff(uint8_t *bytes, size_t size)
{
    int big = bytes[0] == 'M';
    size_t changes = 1 + next() % 3;
    for (size_t i = 0; i < changes; i++) {
        uint64_t at = number_at(bytes + 4, 4, big), page = next() % 3;
        for (; page && at && at <= size - 6; page--) {
            uint64_t link = at + 2 + 12 * number_at(bytes + at, 2, big);
            if (link > size - 4 || !number_at(bytes + link, 4, big))
                break;
            at = number_at(bytes + link, 4, big);
        }
        uint64_t n = at <= size - 6 ? number_at(bytes + at, 2, big) : 0;
        if (!n || at + 6 + 12 * n > size)
            return mutate(bytes, size);
        uint64_t which = next() % (n + 2);
        if (which < n)
            damage_entry(bytes, size, bytes + at + 2 + 12 * which, big);
        else if (which == n)
            damage_at(bytes + at, 2, big, 20);
        else
            damage_at(bytes + at + 2 + 12 * n, 4, big, size);
    }
    return size;
}

/* Puts digits over a number of the text. */
static inline void damage_digits(uint8_t *at, size_t n)
{
    static const char *const numbers[] = { "0", "-1", "1", "2", "65536", "4294967295", "4294967296", "2147483648",
                                           "4611686018427387903", "9223372036854775807", "18446744073709551615",
                                           "99999999999999999999", "1e9", "nan" };
    const char *number = numbers[next() % (sizeof numbers / sizeof numbers[0])];
    size_t length = strlen(number);
    if (next() % 3 == 0)
        at[next() % n] = (uint8_t)('0' + next() % 10);
    else
        memcpy(at, number, length < n ? length : n);
}

/* Headers of text: numbers, signs that part, lines in another order. */
static inline size_t mutate_header(uint8_t *bytes, size_t size)
{
    size_t changes = 1 + next() % 3, head = size < 1024 ? size : 1024;
    for (size_t i = 0; i < changes; i++) {
        size_t at = next() % head, n = 0;
        uint8_t sign = (uint8_t)"=;{}:\n\" "[next() % 8];
        switch (next() % 5) {
        case 0:
        case 1:
            while (at < head && (bytes[at] < '0' || bytes[at] > '9'))
                at++;
            /* The number and what follows it: longer ones find room. */
            n = size - at < 20 ? size - at : 1 + next() % 20;
            if (n)
                damage_digits(bytes + at, n);
            break;
        case 2:
            while (at < head && bytes[at] != sign)
                at++;
            if (at < head)
                bytes[at] = (uint8_t)"=;{}:\n\" "[next() % 8];
            break;
        case 3: /* a line over another */
            n = 1 + next() % 40;
            n = n < head - at ? n : head - at;
            memmove(bytes + at, bytes + next() % (head - n + 1), n);
            break;
        default: return mutate(bytes, size);
        }
    }
    return size;
}

/* Also the pixels behind the header: values that say that a wider one follows. */
static inline size_t mutate_cbf(uint8_t *bytes, size_t size)
{
    static const uint8_t wide[] = { 0x80, 0, 0x80, 0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f };
    size_t n = 1 + next() % sizeof wide;
    if (next() % 2 || size < 600)
        return mutate_header(bytes, size);
    size_t at = 400 + next() % (size - 400 - sizeof wide);
    memcpy(bytes + at, wide, n);
    return next() % 4 ? size : size - next() % 64;
}

/* Words of raw frames: the ends of each gain, all bits, none. */
static inline size_t mutate_words(uint8_t *bytes, size_t size)
{
    static const uint16_t words[] = { 0, 1, 0x3fff, 0x4000, 0x7fff, 0x8000, 0xbfff, 0xc000, 0xc001, 0xffff };
    size_t changes = 1 + next() % 32, head = size < 256 ? 0 : 128;
    if (next() % 4 == 0)
        return mutate_header(bytes, size);
    for (size_t i = 0; i < changes && size > head + 2; i++)
        memcpy(bytes + head + (next() % (size - head - 1) & ~(size_t)1), &words[next() % 10], 2);
    return size;
}

/* An FPGA program, which says its own length: its table of sections, and what these hold. */
static inline size_t mutate_xclbin(uint8_t *bytes, size_t size)
{
    enum { LENGTH = 304, TABLE = 448 };
    uint64_t left = TABLE + (next() % 2 ? mutate : mutate_header)(bytes + TABLE, size - TABLE);
    memcpy(bytes + LENGTH, &left, sizeof left);
    return (size_t)left;
}

#endif
