/* stream_priv.h - between the decoders of messages: what their ways of writing come to.  Functions without state. */
#ifndef HCY_STREAM_PRIV_H
#define HCY_STREAM_PRIV_H

#include <halcyon/stream.h>

/* Shape, type and size of an array whose data, size, pixel_type, codec, bare, height and width are set: elem_size and
 * bytes, checked.  `what` is the array's name for messages. */
int hcy__stream_array_check(hcy_stream_array *array, const char *what);
/* The channel of that name, made if there is room; NULL: there is none.  The name may be of any bytes. */
hcy_stream_channel *hcy__stream_channel(hcy_stream_message *message, const char *name, size_t size);
/* A copy of text that ends with 0, cut to its room. */
void hcy__stream_text(char *to, size_t room, const char *text, size_t size);

int hcy__stream_v1(hcy_stream_message *message, const hcy_span *parts, size_t n);
int hcy__stream_v2(hcy_stream_message *message, const hcy_span *part);

#endif
