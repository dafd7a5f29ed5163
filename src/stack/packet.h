/* packet.h - messages between the library and halcyon-h5-reader: numbers, texts and arrays, one after the other.
 *
 * A number is 8 bytes of this machine, a text its length + 1 (0: NULL) and its bytes with their 0, an array its length
 * and its elements.  What comes from the other side is not believed: whatever does not fit marks the packet as bad,
 * which then gives zeros, and is asked about once, at the end.  A packet belongs to one thread.
 */
#ifndef HCY_STACK_PACKET_H
#define HCY_STACK_PACKET_H

#include <stddef.h>
#include <stdint.h>

typedef struct hcy__packet {
    unsigned char *bytes;
    size_t size, room, next; /* next: where reading goes on */
    int bad;                 /* no memory to write it, or what is read does not fit */
} hcy__packet;

void hcy__packet_put(hcy__packet *packet, const void *bytes, size_t size);
void hcy__packet_put_number(hcy__packet *packet, uint64_t number);
void hcy__packet_put_real(hcy__packet *packet, double number);
void hcy__packet_put_text(hcy__packet *packet, const char *text);
void hcy__packet_put_array(hcy__packet *packet, const void *array, size_t n, size_t element);

void hcy__packet_get(void *bytes, size_t size, hcy__packet *packet);
uint64_t hcy__packet_get_number(hcy__packet *packet);
/* The same, within the range. */
uint64_t hcy__packet_get_within(hcy__packet *packet, uint64_t least, uint64_t most);
double hcy__packet_get_real(hcy__packet *packet);
/* In the packet's memory; NULL where it was. */
const char *hcy__packet_get_text(hcy__packet *packet);
/* To text[size]: one that is longer is bad. */
void hcy__packet_copy_text(char *text, size_t size, hcy__packet *packet);
/* In the packet's memory, not aligned. */
const void *hcy__packet_get_array(size_t *n, hcy__packet *packet, size_t element);
/* A copy, freed by the caller; NULL: none was put (n 0), or it is bad. */
void *hcy__packet_copy_array(size_t *n, hcy__packet *packet, size_t element);

void hcy__packet_free(hcy__packet *packet);

/* Sends a packet with its head, and behind it the bytes of `rest` (NULL: none) as if they were its own; or receives one
 * of at most `most` bytes, over a socket: 0, or an errno (EPROTO: not from the other side's program; ECONNRESET: it is
 * gone; ETIMEDOUT: past `deadline`, of CLOCK_MONOTONIC in milliseconds, 0: none).  Memory grows with what arrives, not
 * with what is announced. */
int hcy__packet_send(int socket, const hcy__packet *packet, const hcy__packet *rest, int64_t deadline);
int hcy__packet_receive(hcy__packet *packet, int socket, uint64_t most, int64_t deadline);
int64_t hcy__packet_clock(void);

#endif
