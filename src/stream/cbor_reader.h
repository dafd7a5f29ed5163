/* cbor_reader.h - reading CBOR (RFC 8949) where it lies, as far as detectors' messages need it.
 *
 * Why not libcbor: it makes an object of each item and copies every byte string, so an image would be copied once more,
 * and a few hostile bytes could ask for as much memory as they like.  Here nothing is allocated: a reader is a place in
 * the message and its end, an item is read or skipped, and strings are pointed at.  Each call checks against the end;
 * nesting is limited; a claimed number of items costs nothing until they are there.
 *
 * Calls return 0, or HCY_ECORRUPT (HCY_EFORMAT: another type than was asked for) with the place in words.  A reader is
 * one thread's.
 */
#ifndef HCY_STREAM_CBOR_READER_H
#define HCY_STREAM_CBOR_READER_H

#include <halcyon/kernel.h>
#include <stdint.h>

enum { CBOR_UINT, CBOR_NEGATIVE, CBOR_BYTES, CBOR_TEXT, CBOR_ARRAY, CBOR_MAP, CBOR_TAG, CBOR_SIMPLE };
enum { CBOR_DEPTH = 32 }; /* of what is skipped */

struct cbor {
    const uint8_t *begin, *at, *end;
};
/* An open array or map: `left` items (of maps, pairs) to come, or until its end's mark. */
struct cbor_list {
    uint64_t left;
    int until_mark;
};

void cbor_begin(struct cbor *cbor, const void *bytes, size_t size);
/* The type of the next item, CBOR_*; -1 at the end. */
int cbor_peek(const struct cbor *cbor);
/* Is it null or undefined?  Then it is read. */
int cbor_null(struct cbor *cbor);
int cbor_uint(uint64_t *value, struct cbor *cbor);
int cbor_tag(uint64_t *tag, struct cbor *cbor);
int cbor_bool(int *value, struct cbor *cbor);
/* Integers and floats of any size. */
int cbor_real(double *value, struct cbor *cbor);
/* CBOR_BYTES or CBOR_TEXT of one piece, which stays where it is. */
int cbor_string(hcy_span *string, struct cbor *cbor, int type);
/* CBOR_ARRAY or CBOR_MAP; then cbor_more() before each item, or pair: 1, 0 behind the last one, or a status. */
int cbor_open(struct cbor_list *list, struct cbor *cbor, int type);
int cbor_more(struct cbor_list *list, struct cbor *cbor);
/* Any item, with all that is in it. */
int cbor_skip(struct cbor *cbor);

#endif
